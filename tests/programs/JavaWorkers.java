// A Java program: threads that share a pool, mapped files, child processes, and the signals by which
// the virtual machine finds null pointers. Run as source: `java JavaWorkers.java`, in the directory
// where it shall write.
import java.io.File;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class JavaWorkers {
  static long work(int number) throws Exception {
    Path path = Paths.get("file." + number);
    Files.write(path, ("line " + number + "\n").repeat(1000).getBytes());
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.seek(100);
      file.writeInt(number);
    }
    try (FileChannel channel =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size());
      mapped.put(0, (byte) 'L');
      mapped.force();
    }
    return Files.size(path);
  }

  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    List<Future<Long>> sizes = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      final int number = i;
      sizes.add(pool.submit(() -> work(number)));
    }
    long sum = 0;
    for (Future<Long> size : sizes) sum += size.get();
    pool.shutdown();
    int nulls = 0;
    String nothing = arguments.length > 5 ? "" : null;
    for (int i = 0; i < 200000; i++) {
      try {
        nothing.length();
      } catch (NullPointerException expected) {
        nulls++;
      }
    }
    Process sort = new ProcessBuilder("sort", "-r", "file.3").redirectOutput(new File("sorted")).start();
    System.out.println(sum + " " + nulls + " " + sort.waitFor());
    System.exit(3);
  }
}
