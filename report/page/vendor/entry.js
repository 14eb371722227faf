// The parts of Apache ECharts that the report page uses. scripts/build_echarts.sh makes echarts.js
// from this file; the page finds what is exported here as the global variable `echarts`.
//
// The activity of up to 256 rows and 512 bins is a custom series that draws one image, because
// ECharts' own heat map makes an object for each of the 131,072 cells.
import { BarChart, CustomChart, LineChart } from "echarts/charts";
import {
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use, version } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([
  BarChart,
  CustomChart,
  LineChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  TooltipComponent,
  CanvasRenderer,
]);

export { init, version };
