#include "commands/Quantize.h"

#include <gtest/gtest.h>

/// Rows of commands, and the words of command lines.
namespace origo::commands {
namespace {

using Words = std::vector<std::string>;

std::string said(llvm::Error error) { return error ? llvm::toString(std::move(error)) : "nothing"; }

/// A request with a member of each kind.
enum class Colour { Red, Green };
struct Group {
  float ratio = 0.5f;
};
struct Sample {
  bool flag = false, on = true;
  unsigned count = 3;
  int number = -1;
  std::optional<double> maybe;
  std::string text = "a";
  std::vector<std::string> list;
  std::vector<float> numbers;
  std::optional<Colour> colour;
  std::optional<std::array<std::string, 2>> pair;
  Repeated<std::array<std::string, 2>> pairs;
  Repeated<std::string> each;
  Group group;
  std::optional<unsigned> level;
  std::optional<std::string> bare;
  std::map<std::string, bool> switches;
};

} // namespace

template <>
inline constexpr auto choicesOf<Colour> = std::to_array<ChoiceOf<Colour>>({{"red", Colour::Red, ""},
                                                                           {"green", Colour::Green, ""}});

namespace {

const std::array sampleRows{
    option<&Sample::flag>("flag", "", {.also = "f,fl"}),
    option<&Sample::on>("on", ""),
    option<&Sample::count>("count", ""),
    option<&Sample::number>("number", ""),
    option<&Sample::maybe>("maybe", ""),
    option<&Sample::text>("text", ""),
    option<&Sample::list>("long-list", ""),
    option<&Sample::numbers>("numbers", ""),
    option<&Sample::colour>("colour", ""),
    option<&Sample::pair>("pair", ""),
    option<&Sample::pairs>("pairs", ""),
    option<&Sample::each>("each", ""),
    option<&Sample::group, &Group::ratio>("ratio", ""),
    option<&Sample::level>("O", "", {.prefix = true}),
    option<&Sample::bare>("bare", "", {.bare = true}),
    flagOption<&Sample::switches>("left", ""),
    flagOption<&Sample::switches>("right", ""),
};

/// What is wrong with the words; the request and the other words.
struct Parsed {
  Sample request;
  Words arguments;
  std::string error;
  explicit Parsed(const Words &words) { error = said(parse(sampleRows, &request, words, arguments)); }
};

TEST(Options, TakeWhatCommandLinesTake) {
  Parsed all({"-flag",
              "--on=false",
              "--count",
              "0x10",
              "-number=-7",
              "in",
              "--maybe=1e-3",
              "--text",
              "--flag",
              "--long-list=a,b",
              "--long-list",
              "c",
              "--numbers=1,2.5",
              "--colour=green",
              "--pair",
              "x",
              "y",
              "--pairs=1",
              "2",
              "--each=a,b",
              "-",
              "--ratio=0.25",
              "--",
              "--out"});
  EXPECT_EQ(all.error, "nothing");
  EXPECT_TRUE(all.request.flag);
  EXPECT_FALSE(all.request.on);
  EXPECT_EQ(all.request.count, 16u);
  EXPECT_EQ(all.request.number, -7);
  EXPECT_EQ(all.request.maybe, 1e-3);
  EXPECT_EQ(all.request.text, "--flag"); // whatever follows is the value
  EXPECT_EQ(all.request.list, (Words{"a", "b", "c"}));
  EXPECT_EQ(all.request.numbers, (std::vector<float>{1, 2.5}));
  EXPECT_EQ(all.request.colour, Colour::Green);
  EXPECT_EQ((*all.request.pair)[1], "y");
  EXPECT_EQ(all.request.pairs.at(0)[0], "1");
  EXPECT_EQ(all.request.each.at(0), "a,b"); // no list of one occurrence
  EXPECT_EQ(all.request.group.ratio, 0.25f);
  EXPECT_EQ(all.arguments, (Words{"in", "-", "--out"}));
  EXPECT_EQ(Parsed({"--count=1", "--count=2", "-f", "--fl", "--flag=0"}).request.count, 2u); // the last counts
  EXPECT_EQ(Parsed({"--long-list=a\\,b,c\\d"}).request.list, (Words{"a,b", "c\\d"}));
}

TEST(Options, TakePrefixesAndSwitchesOfATable) {
  Parsed some({"-O1", "--left", "--right=false"});
  EXPECT_EQ(some.error, "nothing");
  EXPECT_EQ(some.request.level, 1u);
  EXPECT_EQ(some.request.switches, (std::map<std::string, bool>{{"left", true}, {"right", false}}));
  const Sample fresh;
  EXPECT_EQ(wordsOf(sampleRows, &some.request, &fresh), (Words{"-O1", "--left", "--right=false"}));
  EXPECT_EQ(Parsed({"-O", "2"}).request.level, 2u);
  EXPECT_EQ(Parsed({"-O=3", "-O4"}).request.level, 4u);
  EXPECT_EQ(Parsed({"-O"}).error, "-O needs a value; --help shows examples");
  EXPECT_EQ(Parsed({"-Ox"}).error, "-O: \"x\" is not a number that it can be");
  EXPECT_EQ(Parsed({"--lefft"}).error, "there is no option --lefft; did you mean --left?");
}

TEST(Options, TakeAValueOrNone) {
  EXPECT_EQ(Parsed({"in"}).request.bare, std::nullopt);
  Parsed none({"--bare", "in"});
  EXPECT_EQ(none.request.bare, "");
  EXPECT_EQ(none.arguments, (Words{"in"}));
  EXPECT_EQ(Parsed({"-bare=x"}).request.bare, "x");
}

TEST(Options, SayWhatIsWrong) {
  EXPECT_EQ(Parsed({"--cuont=3"}).error, "there is no option --cuont; did you mean --count?");
  EXPECT_EQ(Parsed({"--nonsense"}).error, "there is no option --nonsense; --help lists them");
  EXPECT_EQ(Parsed({"--count"}).error, "--count needs a value; --help shows examples");
  EXPECT_EQ(Parsed({"--pair", "a"}).error, "--pair needs a value; --help shows examples");
  EXPECT_EQ(Parsed({"--count=-1"}).error, "--count: \"-1\" is not a number that it can be");
  EXPECT_EQ(Parsed({"--maybe=x"}).error, "--maybe: \"x\" is not a number that it can be");
  EXPECT_EQ(Parsed({"--numbers=1,x,2"}).error, "--numbers: \"x\" is not a number that it can be");
  EXPECT_EQ(Parsed({"-f=maybe"}).error, "-f takes no value");
  EXPECT_EQ(Parsed({"--colour=blue"}).error, "--colour: \"blue\" is none; there are red, green");
}

/// A text that sets an option to something else than it is, with what is hard to say in words.
std::string otherText(const Option &row, const void *request) {
  std::vector<std::string> now = row.get(request);
  std::string text = row.flag      ? (now == Words{"true"} ? "false" : "true")
                     : row.choices ? (now == Words{row.choices().front().name.str()} ? row.choices().back().name.str()
                                                                                     : row.choices().front().name.str())
                     : row.type == "int"           ? "31"
                     : row.type == "float"         ? "0.3"
                     : row.words > 1 || row.splits ? "-a b,--"
                                                   : "-a b,c\\,d=e \"'";
  if (row.splits && row.type == "str")
    return joinList({text, "", "x,y\\"});
  return row.words > 1 ? joinList(Words(row.words, text)) : text;
}

/// Request -> words -> request is the same request, with each option away from its default, alone and all together.
void roundTrip(Options rows, llvm::function_ref<std::shared_ptr<void>()> fresh) {
  auto start = fresh(), all = fresh();
  auto expectSame = [&](const void *request) {
    Words words = wordsOf(rows, request, start.get()), arguments;
    auto again = fresh();
    EXPECT_EQ(said(parse(rows, again.get(), words, arguments)), "nothing");
    EXPECT_TRUE(arguments.empty());
    for (const Option &row : rows)
      EXPECT_EQ(row.get(again.get()), row.get(request)) << row.name.str();
  };
  EXPECT_TRUE(wordsOf(rows, start.get(), start.get()).empty());
  for (const Option &row : rows) {
    auto one = fresh();
    for (void *request : {one.get(), all.get()})
      EXPECT_EQ(said(row.set(request, otherText(row, start.get()))), "nothing") << row.name.str();
    EXPECT_NE(row.get(one.get()), row.get(start.get())) << row.name.str();
    EXPECT_EQ(wordsOf(rows, one.get(), start.get()).size(), row.words > 1 ? row.words + 1 : 1) << row.name.str();
    expectSame(one.get());
  }
  expectSame(all.get());
}

TEST(Options, RoundTripOfEveryKind) { roundTrip(sampleRows, freshRequest<Sample>); }

TEST(Options, RoundTripOfEveryCommand) {
  for (const Command *command : allCommands()) {
    SCOPED_TRACE(command->name.str());
    roundTrip(command->options(), command->fresh);
  }
}

TEST(Options, NamesAreTakenOnce) {
  for (const Command *command : allCommands()) {
    std::set<std::string> spellings, keywords;
    for (const Option &row : command->options()) {
      for (llvm::StringRef name : row.names())
        EXPECT_TRUE(spellings.insert(name.str()).second) << name.str();
      EXPECT_TRUE(keywords.insert(row.keyword()).second) << row.keyword();
      EXPECT_FALSE(row.help.empty()) << row.name.str();
      EXPECT_TRUE(row.flag || row.choices || row.words > 1 || !row.value.empty()) << row.name.str();
    }
  }
}

TEST(Options, ChecksSayOptionsAsTheDoorDoes) {
  Door python{[](llvm::StringRef name) { return quantizeCommand.find(name)->keyword(); }, [](const llvm::Twine &) {}};
  QuantizeRequest request;
  request.scheme = TfliteScheme::Name::Int8;
  request.leastElements = 3;
  EXPECT_EQ(said(check(request, python)),
            "min_elements goes with scheme dynamic or weights, which store weights alone");
}

} // namespace
} // namespace origo::commands
