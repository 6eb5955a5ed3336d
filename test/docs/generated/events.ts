/**
 * Generates the list of gateway events from the interface that types them: names, doc comments and payload keys.
 */
import { textOf } from '../repository.ts'

const source = 'src/message/hook-events.ts'

interface Field {
  readonly name: string
  readonly type: string
  readonly doc: string
}

/** Throws when the source of the interface has an unexpected form. */
export function events(): string {
  const text = textOf(source)
  const parts = membersOf(bodyOf(text, 'interface HookEvents {')).map(({ name, type, doc }) => {
    const own = fieldsIn(/\{(?<body>[\s\S]*)\}/.exec(type)?.groups?.['body'] ?? '')
    const common = /^\w+Context\b/.exec(type)?.[0]
    const shared = common === undefined ? [] : fieldsIn(bodyOf(text, `interface ${common} {`))
    const fields = [...shared, ...own]
    if (fields.length === 0) throw new Error(`${source}: ${name} has no payload`)
    return `### \`${name}\`\n\n${doc}\n\n${fields.map(line).join('\n')}`
  })
  if (parts.length < 5) throw new Error(`${source}: ${parts.length} events are too few`)
  return parts.join('\n\n')
}

function line({ name, type, doc }: Field): string {
  return `- \`${name}\` (${formatType(type)})${doc === '' ? '' : `: ${doc}`}`
}

function formatType(type: string): string {
  if (type === 'string') return 'string'
  if (type.startsWith('Readonly<Record<')) return 'object'
  if (type.endsWith('[]')) return type === 'string[]' ? 'list of strings' : `list of \`${type.slice(0, -2)}\``
  return type
}

/** The text between an opening line and its closing brace. */
function bodyOf(text: string, opening: string): string {
  const from = text.indexOf(opening)
  if (from === -1) throw new Error(`${source} does not contain "${opening}"`)
  const end = text.indexOf('\n}\n', from)
  return text.slice(from + opening.length, end)
}

/** The events: each has a doc comment and a type of one or several lines. */
function membersOf(body: string): Field[] {
  const member =
    / {2}\/\*\* (?<doc>.*?) \*\/\n {2}(?:'(?<name>[^']+)'|\[command: `(?<pattern>[^`]+)`\]): (?<type>(?:.|\n {2,}(?! ?\/\*\*)(?!'))*)/g
  return [...body.matchAll(member)].map(({ groups = {} }) => ({
    name: groups['name'] ?? groups['pattern']?.replace('${string}', '<name>') ?? '',
    type: groups['type'] ?? '',
    doc: groups['doc'] ?? '',
  }))
}

/** The payload keys, on one line (`a: string; b: number`) or one per line, with optional doc comments. */
function fieldsIn(body: string): Field[] {
  const field = /(?:\/\*\* (?<doc>.*?) \*\/\s*)?\b(?<name>[a-z_]+): (?<type>\{[^}]*\}(?:\[\])?|[^;\n}]+)/g
  return [...body.matchAll(field)].map(({ groups = {} }) => ({
    name: groups['name'] ?? '',
    type: (groups['type'] ?? '').trim(),
    doc: groups['doc'] ?? '',
  }))
}
