/**
 * The hooks of plugins, from the map that types them: when each fires, what its callbacks get, what of their answers counts.
 */
import type { HookName } from '../../../src/plugins/hook-map.ts'
import { type HookKind, hookKinds } from '../../../src/plugins/hooks/hook-kinds.ts'
import { table } from './table.ts'
import { typeIn } from './types.ts'

const source = 'src/plugins/hook-map.ts'

const waiting: Readonly<Record<HookKind, string>> = {
  decision: 'waits',
  observer: 'does not wait',
  notification: 'does not wait, no timeout',
  stream: 'does not wait, separate queue',
}

const headings = ['Hook', 'When', 'The turn', 'An answer'] as const

/** Throws when the map is not written as it was when this was made. */
export function pluginHooks(): string {
  const hooks = typeIn(source, 'HookPayloads').members
  const answers = new Map(typeIn(source, 'HookReturns').members.map((member) => [member.name, member]))
  const names = Object.keys(hookKinds)
  if (hooks.length !== names.length) throw new Error(`${source}: ${hooks.length} of ${names.length} hooks were found`)
  const rows = hooks.map(({ name, doc }) => [
    `[\`${name}\`](#${name})`,
    doc,
    waiting[kindOf(name)],
    answers.has(name) ? 'counts' : 'is ignored',
  ])
  const parts = hooks.map(({ name, signature, doc }) => {
    const answer = answers.get(name)
    const fields = fieldsOf(signature)
    if (fields.length === 0) throw new Error(`${source}: no payload was found for ${name}`)
    const counts =
      answer === undefined
        ? 'What a callback returns is ignored.'
        : `What counts: \`${typeOf(answer.signature)}\`${answer.doc === '' ? '' : `  \n${answer.doc}`}`
    return `### \`${name}\`\n\n${[doc, counts].filter((text) => text !== '').join('\n\n')}\n\n${fields.join('\n')}`
  })
  return [table(headings, rows), ...parts].join('\n\n')
}

function kindOf(name: string): HookKind {
  const isHook = (text: string): text is HookName => Object.hasOwn(hookKinds, text)
  if (!isHook(name)) throw new Error(`${source}: ${name} is not among the kinds of hooks`)
  return hookKinds[name]
}

/** `StreamKeys & { readonly delta: string }`: the keys of the interfaces first. */
function fieldsOf(signature: string): string[] {
  const type = typeOf(signature)
  const at = type.indexOf('{')
  const bases = at === -1 ? type : type.slice(0, at)
  const own = at === -1 ? '' : type.slice(at)
  const named = [...bases.matchAll(/\w+/g)].flatMap(([name]) => keysOf(name))
  const field = /(?:\/\*\* (?<doc>.*?) \*\/ )?readonly (?<name>\w+): (?<type>[^;}]+?)(?=;| readonly | \/\*\*| ?\}|$)/g
  const direct = [...own.matchAll(field)].map(({ groups = {} }) =>
    line(groups['name'] ?? '', groups['type'] ?? '', groups['doc'] ?? ''),
  )
  return [...named, ...direct]
}

function keysOf(name: string): string[] {
  const { bases, members } = typeIn(source, name)
  return [...bases.flatMap(keysOf), ...members.map((member) => line(member.name, typeOf(member.signature), member.doc))]
}

function typeOf(signature: string): string {
  return signature
    .slice(signature.indexOf(':') + 1)
    .trim()
    .replace(/^\| /, '')
}

function line(name: string, type: string, doc: string): string {
  return `- \`${name}\` (${inWords(type.trim())})${doc === '' ? '' : `: ${doc}`}`
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  boolean: 'true or false',
  null: 'null',
  Json: 'object',
  Trace: 'list of `{ source?, reason?, name? }`',
  'readonly string[]': 'list of texts',
  'readonly Json[]': 'list of objects',
  'readonly HistoryMessage[]': 'list of messages in the format of OpenAI',
}

function inWords(type: string): string {
  return type
    .split(' | ')
    .map((part) => words[part] ?? `\`${part}\``)
    .join(' or ')
}
