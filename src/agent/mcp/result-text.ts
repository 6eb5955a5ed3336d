/**
 * The results of MCP servers as JSON for the model: `{result, structuredContent?, _meta?}`, or `{error}` (contract agent.md S13).
 */
import { isDeepStrictEqual } from 'node:util'
import { asRecord, asString, exceedsDepth, isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import { removeInvisible } from '../context-files/invisible-text.ts'
import { toResultJson } from '../support/result-json.ts'
import { cleanJson } from './names.ts'

/** Longer texts are cut before they are worked on. */
const maxTextChars = 1_000_000
const maxMetaChars = 4_096

/** Deeper data is not worked on. */
const maxDepth = 50

/** The result of a tool. Never throws. */
export function toolResultJson(result: unknown, maxChars: number): string {
  const { content, isError, structuredContent, _meta: meta } = asRecord(result)
  const text = contentText(content)
  if (isError === true) return toResultJson({ error: text || 'The tool failed without a reason.' }, maxChars, 'error')
  const structured = smallJson(structuredContent, maxChars / 2)
  const vendor = smallJson(isRecord(meta) ? vendorKeys(meta) : undefined, maxMetaChars)
  const fields = {
    structuredContent: structured,
    _meta: vendor,
  }
  // Servers repeat structured content as text.
  if (structured !== undefined && isDeepStrictEqual(parseJson(text), structured)) return toResultJson(fields, maxChars)
  const isTooLarge = text === '' && structured === undefined && isRecord(structuredContent)
  return toResultJson({ result: isTooLarge ? '[the result is too large]' : text, ...fields }, maxChars, 'result')
}

/** Undefined for what is no object, is empty, or takes more than `maxChars`. */
function smallJson(value: unknown, maxChars: number): unknown {
  if (!isRecord(value) || Object.keys(value).length === 0 || exceedsDepth(value, maxDepth)) return undefined
  const cleaned = cleanJson(value)
  return JSON.stringify(cleaned).length > maxChars ? undefined : cleaned
}

/** Keys of the protocol mean nothing to a model. */
function vendorKeys(meta: JsonObject): JsonObject {
  const isOfProtocol = (key: string) =>
    key === 'progressToken' || /^(?:[\w-]+\.)*(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*\//.test(key)
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !isOfProtocol(key)))
}

/** The parts of a result as one text. Pictures and sounds are described, not shown. */
export function contentText(content: unknown): string {
  if (!Array.isArray(content)) return ''
  const texts: string[] = []
  let length = 0
  for (const [index, part] of content.entries()) {
    const text = partText(part)
    length += text.length
    texts.push(text)
    if (length <= maxTextChars) continue
    const left = content.length - index - 1
    texts.push(`[the rest is left out${left > 0 ? `, with ${left} more parts` : ''}]`)
    break
  }
  return removeInvisible(texts.join('\n').slice(0, maxTextChars + 200)).toWellFormed()
}

function partText(part: unknown): string {
  if (!isRecord(part)) return ''
  const kind = asString(part['type'])
  switch (kind) {
    case 'text':
      return asString(part['text'])
    case 'image':
    case 'audio':
      return `[${kind}: ${mediaText(part, part['data'])}]`
    case 'resource_link':
      return `[resource: ${[part['uri'], part['title'] ?? part['name'], part['description']].map(asString).filter(Boolean).join(' · ')}]`
    case 'resource':
      return resourceText(part['resource'])
    default:
      return `[a part of an unknown kind: ${kind.slice(0, 40)}]`
  }
}

/** The content of a resource. */
export function resourceText(resource: unknown): string {
  if (!isRecord(resource)) return ''
  const { text, blob } = resource
  if (typeof text === 'string') return text
  return `[resource ${asString(resource['uri'])}: ${mediaText(resource, blob)}]`
}

function mediaText(part: Readonly<Record<string, unknown>>, data: unknown): string {
  const bytes = Math.floor((asString(data).length * 3) / 4)
  return `${asString(part['mimeType']).slice(0, 100) || 'unknown type'}, ${Math.ceil(bytes / 1_024)} kB, not shown here`
}
