// The one place that escapes names from outside: paths, host names, command lines, hints, keys of
// documents, arguments of the command line. Each byte of these becomes \xHH:
//
// - control characters: U+0000 to U+001F, U+007F, and U+0080 to U+009F
// - characters that change the direction of the text around them: U+061C, U+200E, U+200F, U+202A to
//   U+202E, U+2066 to U+2069
// - characters that end a line or cannot be seen: U+200B to U+200D, U+2028, U+2029, U+2060 to
//   U+2065, U+206A to U+206F, U+FEFF, U+FFF9 to U+FFFB, U+E0000 to U+E007F
// - bytes that are not UTF-8
// - `\`, by printable() alone
//
// The rule, so that nothing gets through and nothing is escaped twice:
//
// 1. A name is passed to printable() once: where it is put into a sentence, a table or a document.
//    The result is text. Text is never passed to printable() again.
// 2. All output passes safeText() or safeJson() last: printFailure() and Output of cli/,
//    `omnio-replay` and `omnio-phase-run` call them, and writers of documents do for sentences.
//    Both leave text as it is, so they may be applied any number of times. They catch a name that
//    was not passed to printable(), but then a `\` in that name looks like an escape.
#pragma once

#include <string>
#include <string_view>

namespace omnio::base {

// Appends `bytes` as text, with every character of `also` (ASCII) escaped too.
void appendPrintable(std::string& out, std::string_view bytes, std::string_view also = {});

std::string printable(std::string_view bytes, std::string_view also = {});

// The bytes that printable() was given: each \xHH becomes its byte, all else stays.
std::string bytesOf(std::string_view text);

// The text with everything escaped that is listed above, except `\` and the characters of `keep`
// (ASCII: the newlines between lines).
std::string safeText(std::string_view text, std::string_view keep = {});

// The same for a JSON document: escapes are \uHHHH, so that its values stay the same. Newlines
// stay. Bytes that are not UTF-8 become U+FFFD.
std::string safeJson(std::string_view document);

// Appends the text as a JSON string with its quotes, which has the same value; but a byte that is
// not UTF-8 becomes the text \xHH.
void appendJsonText(std::string& out, std::string_view text);

// A text of a document, fit for an error message: the beginning of one that is long.
std::string inBrief(std::string_view text);

// Text as one word of a shell's command line: in quotes where a shell would read more into it.
std::string shellWord(std::string_view text);

// Whether the text is printable ASCII and newlines alone: safeText(text, "\n") and safeJson(text)
// leave it as it is. Quick, for long output.
bool isPlainText(std::string_view text);

}  // namespace omnio::base
