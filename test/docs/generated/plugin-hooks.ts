/**
 * Generates the reference of plugin hooks from the map that types them: when each fires, its payload and its results.
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

const headings = ['Hook', 'When', 'The turn', 'The result'] as const

/** Throws when the source of the map has an unexpected form. */
export function pluginHooks(): string {
  const hooks = typeIn(source, 'HookPayloads').members
  const results = new Map(typeIn(source, 'HookReturns').members.map((member) => [member.name, member]))
  const names = Object.keys(hookKinds)
  if (hooks.length !== names.length) throw new Error(`${source}: found ${hooks.length} of ${names.length} hooks`)
  const rows = hooks.map(({ name, doc }) => [
    `[\`${name}\`](#${name})`,
    doc,
    waiting[kindOf(name)],
    results.has(name) ? 'is used' : 'is ignored',
  ])
  const parts = hooks.map(({ name, signature, doc }) => {
    const result = results.get(name)
    const fields = fieldsOf(signature)
    if (fields.length === 0) throw new Error(`${source}: ${name} has no payload`)
    const effect =
      result === undefined
        ? 'The result is ignored.'
        : `Result: \`${typeOf(result.signature)}\`${result.doc === '' ? '' : `  \n${result.doc}`}`
    return `### \`${name}\`\n\n${[doc, effect].filter((text) => text !== '').join('\n\n')}\n\n${fields.join('\n')}`
  })
  return [table(headings, rows), ...parts].join('\n\n')
}

function kindOf(name: string): HookKind {
  const isHook = (text: string): text is HookName => Object.hasOwn(hookKinds, text)
  if (!isHook(name)) throw new Error(`${source}: ${name} has no kind`)
  return hookKinds[name]
}

/** The keys of a type such as `StreamKeys & { readonly delta: string }`, those of the interfaces first. */
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
  return `- \`${name}\` (${formatType(type.trim())})${doc === '' ? '' : `: ${doc}`}`
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
  Json: 'object',
  Trace: 'list of `{ source?, reason?, name? }`',
  'readonly string[]': 'list of strings',
  'readonly Json[]': 'list of objects',
  'readonly HistoryMessage[]': 'list of messages in OpenAI format',
}

function formatType(type: string): string {
  return type
    .split(' | ')
    .map((part) => typeNames[part] ?? `\`${part}\``)
    .join(' or ')
}
