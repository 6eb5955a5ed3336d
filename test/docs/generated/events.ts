/**
 * The table of gateway events, read from the interface that types them: names, doc comments, payload keys.
 */
import { textOf } from '../repository.ts'

const source = 'src/message/hook-events.ts'

interface Field {
  readonly name: string
  readonly type: string
  readonly doc: string
}

/** Throws when the interface is not written as it was when this was made. */
export function events(): string {
  const text = textOf(source)
  const parts = membersOf(bodyOf(text, 'interface HookEvents {')).map(({ name, type, doc }) => {
    const own = fieldsIn(/\{(?<body>[\s\S]*)\}/.exec(type)?.groups?.['body'] ?? '')
    const common = /^\w+Context\b/.exec(type)?.[0]
    const shared = common === undefined ? [] : fieldsIn(bodyOf(text, `interface ${common} {`))
    const fields = [...shared, ...own]
    if (fields.length === 0) throw new Error(`${source}: no payload was found for ${name}`)
    return `### \`${name}\`\n\n${doc}\n\n${fields.map(line).join('\n')}`
  })
  if (parts.length < 5) throw new Error(`${source}: only ${parts.length} events were found`)
  return parts.join('\n\n')
}

function line({ name, type, doc }: Field): string {
  return `- \`${name}\` (${inWords(type)})${doc === '' ? '' : `: ${doc}`}`
}

function inWords(type: string): string {
  if (type === 'string') return 'text'
  if (type.startsWith('Readonly<Record<')) return 'object'
  if (type.endsWith('[]')) return type === 'string[]' ? 'list of texts' : `list of \`${type.slice(0, -2)}\``
  return type
}

/** From an opening line to the brace that closes it. */
function bodyOf(text: string, opening: string): string {
  const from = text.indexOf(opening)
  if (from === -1) throw new Error(`${source}: "${opening}" is not there`)
  const end = text.indexOf('\n}\n', from)
  return text.slice(from + opening.length, end)
}

/** Events: each has a doc comment and a type that may go over several lines. */
function membersOf(body: string): Field[] {
  const member =
    / {2}\/\*\* (?<doc>.*?) \*\/\n {2}(?:'(?<name>[^']+)'|\[command: `(?<pattern>[^`]+)`\]): (?<type>(?:.|\n {2,}(?! ?\/\*\*)(?!'))*)/g
  return [...body.matchAll(member)].map(({ groups = {} }) => ({
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is how the type writes "any text"
    name: groups['name'] ?? groups['pattern']?.replace('${string}', '<name>') ?? '',
    type: groups['type'] ?? '',
    doc: groups['doc'] ?? '',
  }))
}

/** Payload keys on one line (`a: string; b: number`) or one a line, with a doc comment before some. */
function fieldsIn(body: string): Field[] {
  const field = /(?:\/\*\* (?<doc>.*?) \*\/\s*)?\b(?<name>[a-z_]+): (?<type>\{[^}]*\}(?:\[\])?|[^;\n}]+)/g
  return [...body.matchAll(field)].map(({ groups = {} }) => ({
    name: groups['name'] ?? '',
    type: (groups['type'] ?? '').trim(),
    doc: groups['doc'] ?? '',
  }))
}
