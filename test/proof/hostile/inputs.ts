/**
 * The hostile inputs of the proof: what people, models, tools, files and configuration may send to hold the event loop.
 */
import { type ModelReply, sseFrame } from '../../kit/servers/model-script.ts'
import { fill, hostileTexts } from './texts.ts'

export type ChatPlatform = 'telegram' | 'discord' | 'slack'

export type HostileInput = { readonly name: string } & (
  | {
      /** A request of the API: what the person writes, and the answers of the model, one for each call. */
      readonly entry: 'api'
      readonly text?: () => string
      readonly replies?: () => readonly ModelReply[]
      /** Files in the working folder, by name. */
      readonly files?: () => Readonly<Record<string, string>>
    }
  /** A message in a chat, and the answer. */
  | { readonly entry: ChatPlatform; readonly text?: () => string; readonly reply?: () => string }
  /** The body of a request to the API. */
  | { readonly entry: 'body'; readonly body: () => string }
  /** Lines at the end of config.yaml. */
  | { readonly entry: 'config'; readonly yaml: () => string }
  /** A HOOK.yaml in the folder of the hooks. */
  | { readonly entry: 'hook'; readonly yaml: () => string }
)

/** Characters of a text on each route. The routes of chats have lower limits of their own. */
const size = { message: 200_000, reply: 100_000, result: 400_000, slack: 60_000, telegram: 20_000, discord: 8_000 }

const call = (name: string, parameters: Readonly<Record<string, unknown>>): ModelReply => ({
  toolCalls: [{ id: 'call_1', name, arguments: parameters }],
})
const done: ModelReply = { text: 'done' }

function toolCall(name: string, tool: string, parameters: () => Readonly<Record<string, unknown>>): HostileInput {
  return { name, entry: 'api', replies: () => [call(tool, parameters()), done] }
}

function textInputs(): HostileInput[] {
  return hostileTexts.flatMap(({ name, build }): HostileInput[] => [
    { name: `message of a person: ${name}`, entry: 'api', text: () => build(size.message) },
    { name: `reply of the model: ${name}`, entry: 'api', replies: () => [{ raw: streamOf([build(size.reply)]) }] },
    {
      name: `result of a tool: ${name}`,
      entry: 'api',
      files: () => ({ 'hostile.txt': build(size.result) }),
      replies: () => [
        call('terminal', { command: 'cat hostile.txt' }),
        call('read_file', { path: 'hostile.txt' }),
        done,
      ],
    },
    { name: `reply in Slack: ${name}`, entry: 'slack', reply: () => build(size.slack) },
    { name: `reply in Telegram: ${name}`, entry: 'telegram', reply: () => build(size.telegram) },
    { name: `reply in Discord: ${name}`, entry: 'discord', reply: () => build(size.discord) },
    { name: `message in Telegram: ${name}`, entry: 'telegram', text: () => build(4_096) },
    { name: `message in Slack: ${name}`, entry: 'slack', text: () => build(40_000) },
    { name: `context file: ${name}`, entry: 'api', files: () => ({ 'AGENTS.md': build(100_000) }) },
  ])
}

/** Commands that the policy judges. None of them may do anything when it runs. */
const commands: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    hostileTexts.flatMap(({ name, build }) => [[`text of ${name}`, () => `: ${build(100_000).replaceAll('>', ')')}`]]),
  ),
  'many simple commands': () => fill('true;', 100_000),
  'a long pipeline': () => fill('true|', 100_000),
  'nested substitutions': () => `${fill('$(true ', 50_000)}`,
  'nested backticks': () => fill('`\\`', 100_000),
  'nested shells': () => `${fill("bash -c '", 20_000)}`,
  'nested subshells': () => `${fill('(', 20_000)}true${fill(')', 20_000)}`,
  'nested conditions': () => fill('if true; then ', 30_000),
  'nested functions': () => fill('f(){ ', 30_000),
  'braces that multiply': () => `: ${'{a,b}'.repeat(2_000)}`,
  'nested braces': () => `: ${'{a,'.repeat(2_000)}${'}'.repeat(2_000)}`,
  'ranges of braces': () => `: {1..999999999}{1..999999999}`,
  'variables that double': () =>
    `a=xx; ${Array.from({ length: 60 }, (_, index) => `a${index + 1}="$a${index}$a${index}"`).join('; ')}; : $a60`,
  'many assignments': () => `${Array.from({ length: 1_900 }, (_, index) => `v${index}=$v${index - 1}`).join(' ')} true`,
  'one variable many times': () => `a='${fill('x ', 10_000)}'; : ${fill('$a ', 5_000)}`,
  'here-documents': () => fill('true <<A\n', 50_000),
  'a long here-document': () => `true <<A\n${fill('$(true) ', 30_000)}\nA`,
  'here-strings': () => `true ${fill('<<<a ', 9_000)}`,
  'many redirections': () => `true ${fill('2>&1 ', 9_000)}`,
  arithmetic: () => `: $((${fill('1+', 30_000)}1))`,
  'nested arithmetic': () => `: ${fill('$((', 30_000)}`,
  'many paths': () => `: ${fill('/etc/passwd ', 24_000)}`,
  'long paths': () => `: ${fill('../', 32_000)}`,
  wrappers: () => `${fill('env ', 8_000)}true`,
  'wrappers of wrappers': () => `${fill('nice timeout 1 xargs ', 20_000)}true`,
  'many globs': () => `: ${fill('/e*c/p?s[a-z] ', 24_000)}`,
  'extended globs': () => `: ${fill('+(a|b)', 30_000)}`,
  'embedded scripts': () => `python3 -c '${fill('import os;', 30_000)}'`,
  'case branches': () => `case a in ${fill('b) true;; ', 20_000)} esac`,
  'denied with stars': () => fill('a b a b ', 32_000),
  'almost denied': () => `${fill('ab', 200_000)}`,
}

const commandInputs = Object.entries(commands).map(([name, command]) =>
  toolCall(`command: ${name}`, 'terminal', () => ({ command: command() })),
)

/** A file of `chars` characters, and a call about it. */
function fileCall(
  name: string,
  content: () => string,
  tool: string,
  parameters: () => Readonly<Record<string, unknown>>,
): HostileInput {
  return {
    name,
    entry: 'api',
    files: () => ({ 'hostile.txt': content() }),
    replies: () => [call(tool, { path: 'hostile.txt', ...parameters() }), done],
  }
}

const fileInputs: readonly HostileInput[] = [
  fileCall(
    'patch with 100,000 hits',
    () => 'a\n'.repeat(100_000),
    'patch',
    () => ({
      old_string: 'a\n',
      new_string: 'bb\n',
      replace_all: true,
    }),
  ),
  fileCall(
    'patch with 100,000 hits that it may not replace',
    () => 'a\n'.repeat(100_000),
    'patch',
    () => ({
      old_string: 'a\n',
      new_string: 'bb\n',
    }),
  ),
  fileCall(
    'patch of 8 million line breaks',
    () => '\n'.repeat(8_000_000),
    'patch',
    () => ({
      old_string: '\n',
      new_string: '\r',
      replace_all: true,
    }),
  ),
  fileCall(
    'patch that multiplies a file',
    () => 'a'.repeat(1_000_000),
    'patch',
    () => ({
      old_string: 'a',
      new_string: 'b'.repeat(100_000),
      replace_all: true,
    }),
  ),
  fileCall(
    'patch of similar lines',
    () => ' a\n'.repeat(200_000),
    'patch',
    () => ({
      old_string: `${'a\n'.repeat(20_000)}b`,
      new_string: 'b',
    }),
  ),
  fileCall(
    'patch with other indentation',
    () => '  a\n'.repeat(200_000),
    'patch',
    () => ({
      old_string: 'a \n',
      new_string: `${'b\n'.repeat(1_000)}`,
      replace_all: true,
    }),
  ),
  fileCall(
    'patch of lines of spaces',
    () => `${' '.repeat(100_000)}a\n`.repeat(50),
    'patch',
    () => ({
      old_string: `${' '.repeat(99_999)}b`,
      new_string: 'c',
    }),
  ),
  fileCall(
    'patch of a file of 15 MB',
    () => 'some words of a line\n'.repeat(700_000),
    'patch',
    () => ({
      old_string: 'other words',
      new_string: 'c',
    }),
  ),
  fileCall(
    'read_file of 15 MB',
    () => 'some words of a line\n'.repeat(700_000),
    'read_file',
    () => ({}),
  ),
  fileCall(
    'read_file of one line of 15 MB',
    () => 'words '.repeat(2_500_000),
    'read_file',
    () => ({}),
  ),
  fileCall(
    'read_file far behind the end',
    () => '\n'.repeat(8_000_000),
    'read_file',
    () => ({ offset: 7_999_000 }),
  ),
  fileCall(
    'search that backtracks',
    () => `${'a'.repeat(50_000)}!\n`,
    'search_files',
    () => ({ pattern: '^(a+)+$' }),
  ),
  fileCall(
    'search with alternatives',
    () => `${'ab'.repeat(5_000)}!\n`,
    'search_files',
    () => ({ pattern: '(a|ab|b|ba)*$' }),
  ),
  fileCall(
    'search with back-references',
    () => `${'a'.repeat(5_000)}\n`,
    'search_files',
    () => ({ pattern: '(a*)*\\1b' }),
  ),
  fileCall(
    'search in 4 MB of one line',
    () => 'a'.repeat(4_000_000),
    'search_files',
    () => ({ pattern: 'a.*b.*c' }),
  ),
  fileCall(
    'search in 2 million lines',
    () => 'a\n'.repeat(2_000_000),
    'search_files',
    () => ({ pattern: 'a', limit: 1_000 }),
  ),
  fileCall(
    'search with a huge pattern',
    () => 'a',
    'search_files',
    () => ({ pattern: `(${'a|'.repeat(50_000)}b)` }),
  ),
  fileCall(
    'search with nested groups',
    () => 'a',
    'search_files',
    () => ({
      pattern: `${'('.repeat(5_000)}a${')'.repeat(5_000)}`,
    }),
  ),
  fileCall(
    'search with large repetitions',
    () => 'a'.repeat(10_000),
    'search_files',
    () => ({
      pattern: '(?:(?:a{1,1000}){1,1000}){1,1000}b',
    }),
  ),
  {
    name: 'a glob of stars',
    entry: 'api',
    files: () => ({ [`${'a'.repeat(200)}`]: 'a' }),
    replies: () => [call('search_files', { target: 'files', pattern: `${'*a'.repeat(60)}b` }), done],
  },
  {
    name: 'a glob of double stars',
    entry: 'api',
    files: () => ({ [`${'a'.repeat(200)}`]: 'a' }),
    replies: () => [call('search_files', { target: 'files', pattern: `${'**/*'.repeat(60)}b` }), done],
  },
  {
    name: 'a glob of braces',
    entry: 'api',
    files: () => ({ [`${'a'.repeat(200)}`]: 'a' }),
    replies: () => [call('search_files', { target: 'files', pattern: `${'{a,aa}'.repeat(60)}b` }), done],
  },
  {
    name: 'a long glob',
    entry: 'api',
    files: () => ({ a: 'a' }),
    replies: () => [call('search_files', { target: 'files', pattern: fill('[a-z]*{b,', 100_000) }), done],
  },
  toolCall('write_file of 10 MB', 'write_file', () => ({ path: 'out.txt', content: 'a'.repeat(10_000_000) })),
  toolCall('write_file of combining marks', 'write_file', () => ({
    path: 'out.txt',
    content: '\u0301'.repeat(500_000),
  })),
  toolCall('write_file to a long path', 'write_file', () => ({ path: 'a/'.repeat(50_000), content: 'a' })),
  toolCall('read_file of a path of dots', 'read_file', () => ({ path: '../'.repeat(50_000) })),
  toolCall('a list of 50,000 tasks', 'todo', () => ({
    todos: Array.from({ length: 50_000 }, (_, id) => ({ id: String(id), content: 'a', status: 'pending' })),
  })),
  toolCall('a command that prints 20 MB', 'terminal', () => ({ command: 'yes | head -c 20000000' })),
  toolCall('a command that prints escape sequences', 'terminal', () => ({
    command: 'yes "$(printf \'\\033[31m\')" | head -c 5000000',
  })),
  toolCall('a command that prints many small pieces', 'terminal', () => ({
    command: 'for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero bs=1 count=20000 status=none; done',
  })),
]

/** The data of a stream of the model with these pieces of text. */
function streamOf(pieces: readonly string[]): { readonly body: string } {
  const frames = pieces.map((content) => deltaFrame({ content }))
  return { body: `${frames.join('')}${finish('stop')}` }
}

function deltaFrame(delta: Readonly<Record<string, unknown>>): string {
  return sseFrame({ choices: [{ index: 0, delta, finish_reason: null }] })
}

function finish(reason: string): string {
  return `${sseFrame({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })}data: [DONE]\n\n`
}

/** The pieces of the arguments of one call. */
function argumentsOf(name: string, pieces: readonly string[]): string {
  const frames = pieces.map((piece, index) =>
    deltaFrame({
      tool_calls: [
        {
          index: 0,
          ...(index === 0 ? { id: 'call_1', type: 'function' } : {}),
          function: { ...(index === 0 ? { name } : {}), arguments: piece },
        },
      ],
    }),
  )
  return frames.join('') + finish('tool_calls')
}

const deepArrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const deepObjects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const streams: Readonly<Record<string, () => string>> = {
  'a million tiny chunks': () => deltaFrame({ content: 'a' }).repeat(1_000_000 / 10) + finish('stop'),
  'a million chunks without text': () => deltaFrame({ content: '' }).repeat(1_000_000 / 10) + finish('stop'),
  'chunks of line breaks': () => deltaFrame({ content: '\n' }).repeat(100_000) + finish('stop'),
  'chunks of backticks': () => deltaFrame({ content: '`' }).repeat(50_000) + finish('stop'),
  'chunks of combining marks': () => deltaFrame({ content: '\u0301' }).repeat(50_000) + finish('stop'),
  'chunks of thoughts': () => deltaFrame({ reasoning_content: 'a' }).repeat(100_000) + finish('stop'),
  'thinking tags in small pieces': () => deltaFrame({ content: '<thi' }).repeat(50_000) + finish('stop'),
  'an endless line': () => `data: ${'a'.repeat(40_000_000)}`,
  'an endless comment': () => `:${'a'.repeat(40_000_000)}`,
  comments: () => ': a\n'.repeat(5_000_000) + finish('stop'),
  'empty lines': () => '\n'.repeat(20_000_000) + finish('stop'),
  'carriage returns': () => '\r'.repeat(10_000_000) + finish('stop'),
  'events of many lines': () => 'data: a\n'.repeat(2_000_000),
  'unknown fields': () => 'x: a\n'.repeat(2_000_000),
  'one large chunk': () => deltaFrame({ content: 'a '.repeat(5_000_000) }) + finish('stop'),
  'a deep chunk': () => `data: ${deepArrays(1_000_000)}\n\n${finish('stop')}`,
  'a chunk of deep objects': () => `data: ${deepObjects(500_000)}\n\n${finish('stop')}`,
  'deep arguments': () => argumentsOf('todo', [deepArrays(1_000_000)]),
  'arguments of deep objects': () => argumentsOf('terminal', [deepObjects(300_000)]),
  'a deep argument': () => argumentsOf('terminal', [`{"command":${deepArrays(300_000)}}`]),
  'arguments of 10 MB': () => argumentsOf('terminal', [`{"command":"${': '.repeat(5_000_000)}"}`]),
  'arguments in tiny pieces': () =>
    argumentsOf(
      'terminal',
      Array.from({ length: 100_000 }, () => ' '),
    ),
  'arguments that are no JSON': () => argumentsOf('terminal', ['{"command": '.repeat(100_000)]),
  'arguments of escapes': () => argumentsOf('terminal', [`{"command":"${'\\u0041'.repeat(500_000)}"}`]),
  'arguments of many keys': () =>
    argumentsOf('terminal', [`{${Array.from({ length: 200_000 }, (_, key) => `"k${key}":1`).join()}}`]),
  'an unknown tool with a huge name': () => argumentsOf('a'.repeat(5_000_000), ['{}']),
  'thousands of calls': () =>
    Array.from({ length: 3_000 }, (_, index) =>
      deltaFrame({
        tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'todo', arguments: '{}' } }],
      }),
    ).join('') + finish('tool_calls'),
  'calls with huge indexes': () =>
    deltaFrame({
      tool_calls: [{ index: 1_000_000_000, id: 'c', type: 'function', function: { name: 'todo', arguments: '{}' } }],
    }) + finish('tool_calls'),
  'a web page instead of a stream': () => '<html>'.repeat(2_000_000),
}

const streamInputs = Object.entries(streams).map(
  ([name, body]): HostileInput => ({
    name: `stream: ${name}`,
    entry: 'api',
    replies: () => [{ raw: { body: body() } }, done],
  }),
)

const bodies: Readonly<Record<string, () => string>> = {
  'deep arrays': () => deepArrays(1_000_000),
  'deep messages': () => `{"messages":${deepArrays(500_000)}}`,
  'deep content': () => `{"messages":[{"role":"user","content":${deepObjects(300_000)}}]}`,
  'many messages': () =>
    JSON.stringify({ messages: Array.from({ length: 100_000 }, () => ({ role: 'user', content: 'a' })) }),
  'many parts': () =>
    JSON.stringify({
      messages: [{ role: 'user', content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'a' })) }],
    }),
  'many keys': () => `{${Array.from({ length: 300_000 }, (_, key) => `"k${key}":1`).join()}}`,
  escapes: () => `{"messages":[{"role":"user","content":"${'\\u0041'.repeat(500_000)}"}]}`,
  'no JSON': () => '['.repeat(1_000_000),
  spaces: () => ' '.repeat(3_000_000),
}

const bodyInputs = Object.entries(bodies).map(
  ([name, body]): HostileInput => ({ name: `request: ${name}`, entry: 'body', body }),
)

const aliasBomb = (key: string) => {
  const levels = Array.from({ length: 30 }, (_, level) =>
    level === 0
      ? '&a0 [x,x,x,x,x,x,x,x,x]'
      : `&a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(',')}]`,
  )
  return `${key}: [${levels.join(',')}]\n`
}

const yamlTexts: Readonly<Record<string, () => string>> = {
  'aliases that multiply': () => aliasBomb('zzz'),
  'deep lists': () => `zzz: ${deepArrays(20_000)}\n`,
  'deep mappings': () => Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}z:`).join('\n'),
  'many keys': () => Array.from({ length: 5_000 }, (_, key) => `z${key}: 1`).join('\n'),
  'a long text': () => `zzz: |\n  ${'a'.repeat(1_000_000)}\n`,
  'a long quoted text': () => `zzz: "${'a'.repeat(1_000_000)}"\n`,
  'a list of words': () => `zzz: [${'a,'.repeat(20_000)}]\n`,
  'many comments': () => '# a\n'.repeat(100_000),
  'many quotes': () => `zzz: ${"'".repeat(50_000)}\n`,
  'many tags': () => `zzz: ${'!a '.repeat(10_000)}\n`,
  'many anchors': () => `zzz: [${Array.from({ length: 5_000 }, (_, id) => `&n${id} a`).join()}]\n`,
  merges: () => `zzz: &m {a: 1}\n${Array.from({ length: 3_000 }, (_, key) => `y${key}: {<<: *m}`).join('\n')}\n`,
}

const yamlInputs = Object.entries(yamlTexts).flatMap(([name, yaml]): HostileInput[] => [
  { name: `config.yaml: ${name}`, entry: 'config', yaml },
  { name: `HOOK.yaml: ${name}`, entry: 'hook', yaml: () => `name: hostile\nevents: [agent:start]\n${yaml()}` },
])

/** In the order in which they run. */
export const hostileInputs: readonly HostileInput[] = [
  ...fileInputs,
  ...commandInputs,
  ...streamInputs,
  ...bodyInputs,
  ...textInputs(),
  ...yamlInputs,
]
