/**
 * Chooses the reply of the demonstration by simple rules over the last message. Pure: the same conversation gives the
 * same reply.
 */

import type { JsonObject } from '../../../lib/json.ts'
import { asArray, asRecord, asString, isRecord, parseJson } from '../../../lib/json.ts'
import type { ModelRequest } from '../../support/model-request.ts'

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

/** Chooses the reply to a request in the format of Chat Completions. */
export function chooseDemoReply(request: ModelRequest): DemoReply {
  const messages = asArray(request['messages']).filter(isRecord)
  const last = messages.at(-1)
  if (last?.['role'] === 'tool') return { kind: 'text', text: describeToolResults(messages) }
  const text = asString(messages.findLast((message) => message['role'] === 'user')?.['content'])
  const exact = parseExactReply(text)
  if (exact !== undefined) return { kind: 'text', text: exact }
  const isFirst = !messages.some((message) => message['role'] === 'assistant')
  const reply = selectReply(text, toolNames(request))
  if (!isFirst) return reply
  const opening = /connect|model|key/i.test(text) ? INTRODUCTION : `${INTRODUCTION}\n\n${CONNECT_INSTRUCTIONS}`
  return { ...reply, text: reply.text === '' ? opening : `${opening}\n\n${reply.text}` }
}

/** The text after "Reply exactly". Queued messages arrive joined by blank lines: the last one counts. */
function parseExactReply(message: string): string | undefined {
  const paragraphs = message.split('\n\n')
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

/** Calls the first available tool that reads without changing anything. */
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

/** Summarises the tool results at the end of the conversation. */
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
  // A result with other fields is shown unchanged; an empty output is reported as empty.
  const text = output === '' && !('output' in fields) ? content : output
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return 'The tool ran and found nothing: the folder is empty.'
  const shown = lines.slice(0, MAX_SHOWN_LINES)
  const more = lines.length > shown.length ? `\n… and ${lines.length - shown.length} more lines` : ''
  return `The tool ran. It shows ${lines.length === 1 ? 'one line' : `${lines.length} lines`}:\n\n\`\`\`\n${shown.join('\n')}${more}\n\`\`\``
}
