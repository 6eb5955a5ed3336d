/**
 * What the demonstration says. It has no model: a few plain rules over the last message, always the same for the same
 * conversation. Pure.
 */

import { asArray, asRecord, asString, isRecord, parseJson } from '../../../lib/json.ts'
import type { JsonObject, ModelRequest } from '../provider.ts'

export type DemoReply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly text: string; readonly name: string; readonly arguments: JsonObject }

const INTRODUCTION =
  '**This is a demonstration.** No model is connected: these answers come from a small script inside the gateway.'

const CONNECT_INSTRUCTIONS = `To connect a model, add two lines to \`config.yaml\` in the home directory (\`~/.hermes\` unless HERMES_HOME says otherwise):

\`\`\`yaml
provider: anthropic   # or openai, openai-responses
model: the-name-of-a-model
\`\`\`

and the key of the provider to \`.env\` beside it:

\`\`\`
ANTHROPIC_API_KEY=…   # or OPENAI_API_KEY=…
\`\`\`

For a server of your own, set \`base_url\` as well.`

/** What to answer to a request of the chat format. */
export function chooseDemoReply(request: ModelRequest): DemoReply {
  const messages = asArray(request['messages']).filter(isRecord)
  const last = messages.at(-1)
  if (last?.['role'] === 'tool') return { kind: 'text', text: describeToolResults(messages) }
  const said = asString(messages.findLast((message) => message['role'] === 'user')?.['content'])
  const exact = parseExactReply(said)
  if (exact !== undefined) return { kind: 'text', text: exact }
  const isFirst = !messages.some((message) => message['role'] === 'assistant')
  const reply = selectReply(said, toolNames(request))
  if (!isFirst) return reply
  const opening = /connect|model|key/i.test(said) ? INTRODUCTION : `${INTRODUCTION}\n\n${CONNECT_INSTRUCTIONS}`
  return { ...reply, text: reply.text === '' ? opening : `${opening}\n\n${reply.text}` }
}

/** The text behind "Reply exactly". Messages that waited together arrive joined by blank lines: the last one counts. */
function parseExactReply(said: string): string | undefined {
  const paragraphs = said.split('\n\n')
  const at = paragraphs.findLastIndex((paragraph) => /^\s*reply exactly\b/i.test(paragraph))
  if (at === -1) return undefined
  const text = paragraphs.slice(at).join('\n\n')
  return text.replace(/^\s*reply exactly\b:?/i, '').trim() || undefined
}

function selectReply(said: string, tools: ReadonlySet<string>): DemoReply {
  if (/\b(?:tools?|files?|folders?|director(?:y|ies)|terminal|command|ls)\b/i.test(said)) return callReadOnlyTool(tools)
  if (/\b(?:connect|api key|model|provider|config)\b/i.test(said)) return { kind: 'text', text: CONNECT_INSTRUCTIONS }
  if (/^\s*(?:hi|hello|hey|good (?:morning|day|evening))\b/i.test(said)) {
    return {
      kind: 'text',
      text: 'Hello! Write anything and see it travel, or ask me to list the files here to see a tool at work.',
    }
  }
  if (/\b(?:markdown|code|table)\b/i.test(said)) return { kind: 'text', text: MARKDOWN_SAMPLE }
  if (/\b(?:thanks|thank you)\b/i.test(said)) return { kind: 'text', text: 'You are welcome.' }
  return { kind: 'text', text: repeatMessage(said) }
}

const MARKDOWN_SAMPLE = `Answers may hold **bold** and *italic* words, \`code\`, lists:

1. first
2. second

a table:

| part | what it does |
| --- | --- |
| inbox | keeps your message until it is answered |
| outbox | keeps the answer until it has arrived |

and blocks of code:

\`\`\`js
const answer = await agent.reply('Hello')
\`\`\``

function repeatMessage(said: string): string {
  const words = said
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return 'Your message was empty. Write a few words and I will repeat them.'
  const start = [...said.trim()].slice(0, 300).join('')
  const quoted = start.length < said.trim().length ? `${start} …` : start
  const count = words.length === 1 ? 'one word' : `${words.length} words`
  return `You wrote ${count}:\n\n> ${quoted.replaceAll('\n', '\n> ')}\n\nA model would think about that; I can only repeat it. Ask me to list the files here to see a tool at work.`
}

/** The first tool at hand that looks and changes nothing. */
function callReadOnlyTool(tools: ReadonlySet<string>): DemoReply {
  const text = 'I will look at the files here with a tool.'
  if (tools.has('terminal')) return { kind: 'call', text, name: 'terminal', arguments: { command: 'ls -A' } }
  if (tools.has('search_files'))
    return { kind: 'call', text, name: 'search_files', arguments: { pattern: '*', target: 'files' } }
  if (tools.has('read_file')) return { kind: 'call', text, name: 'read_file', arguments: { path: '.' } }
  return { kind: 'text', text: 'No tool that could look at files is switched on here.' }
}

function toolNames(request: ModelRequest): ReadonlySet<string> {
  return new Set(asArray(request['tools']).map((tool) => asString(asRecord(asRecord(tool)['function'])['name'])))
}

const MAX_SHOWN_LINES = 20

/** Sums up the results at the end of the conversation. */
function describeToolResults(messages: readonly JsonObject[]): string {
  const firstResult = messages.findLastIndex((message) => message['role'] !== 'tool') + 1
  const parts = messages.slice(firstResult).map((message) => describeToolResult(asString(message['content'])))
  return `${parts.join('\n\n')}\n\nThat is how a tool works: the model asks, the gateway runs it here, and the model sees the result.`
}

function describeToolResult(content: string): string {
  const result = parseJson(content)
  const fields = asRecord(result)
  const error = asString(fields['error'])
  if (error !== '') return `The tool answered with an error: ${error}`
  const output = isRecord(result)
    ? asString(fields['output']) || asString(fields['stdout']) || asString(fields['content'])
    : content
  // A tool that answers in fields of its own is shown as it is; one that said nothing is not.
  const text = output === '' && !('output' in fields) ? content : output
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'The tool ran and found nothing: the folder is empty.'
  const shown = lines.slice(0, MAX_SHOWN_LINES)
  const more = lines.length > shown.length ? `\n… and ${lines.length - shown.length} more lines` : ''
  return `The tool ran. It shows ${lines.length === 1 ? 'one line' : `${lines.length} lines`}:\n\n\`\`\`\n${shown.join('\n')}${more}\n\`\`\``
}
