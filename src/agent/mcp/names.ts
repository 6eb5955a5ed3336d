/**
 * The names of MCP tools, and texts of servers without what people cannot see.
 */
import { createHash } from 'node:crypto'
import { removeInvisible } from '../context-files/invisible-text.ts'

/** The limit of the APIs of models. */
const maxNameChars = 64

export function toolsetOfServer(server: string): string {
  return `mcp-${server}`
}

/**
 * Two tools of a server may get the same name: the caller drops the second one. A name that is too long ends with a hash of the
 * whole.
 */
export function toolNameOf(server: string, tool: string): string {
  const name = `${prefixOf(server)}${toWord(tool)}`
  if (name.length <= maxNameChars) return name
  const hash = createHash('sha256').update(`${server}\n${tool}`).digest('hex').slice(0, 8)
  return `${name.slice(0, maxNameChars - 9)}_${hash}`
}

/**
 * The only server that may have a tool of this name, whichever lists one: that with the longest matching name, and the first of
 * several. So no server takes calls of another with a tool that it adds.
 */
export function ownerOfName(toolName: string, servers: readonly string[]): string | undefined {
  const matching = servers.filter((server) => toolName.startsWith(prefixOf(server)))
  const longest = Math.max(...matching.map((server) => server.length))
  return matching.find((server) => server.length === longest)
}

/** Servers whose tools all belong to an earlier one, as `a.b` and `a_b`, with that server. */
export function serversWithoutNames(servers: readonly string[]): readonly (readonly [string, string])[] {
  return servers.flatMap((server) => {
    const owner = servers.find((other) => toWord(other) === toWord(server))
    return owner === undefined || owner === server ? [] : [[server, owner] as const]
  })
}

function prefixOf(server: string): string {
  return `mcp_${toWord(server)}_`
}

function toWord(text: string): string {
  return text.replace(/\W/g, '_')
}

/** Without characters that no one sees, at most `maxChars` long. */
export function cleanText(text: string, maxChars: number): string {
  const visible = removeInvisible(text.slice(0, maxChars * 2))
  const plain = visible.replace(controlCharacters, ' ').toWellFormed()
  return plain.length <= maxChars ? plain : `${plain.slice(0, maxChars - 1).toWellFormed()}…`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g

/** The texts in a JSON value as `cleanText`; keys, too. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return removeInvisible(value)
  if (Array.isArray(value)) return value.map(cleanJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [removeInvisible(key), cleanJson(inner)]))
}

/** Whether a name matches a pattern in which `*` stands for any characters. */
export function matchesGlob(pattern: string, name: string): boolean {
  const source = pattern
    .split(/\*+/)
    .map((part) => part.replace(/[^\w]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${source}$`, 's').test(name)
}
