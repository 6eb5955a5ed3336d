/**
 * Converts a stored conversation to the strict order that every vendor accepts (contract §4.1): user and assistant
 * alternate, and each tool call is followed by exactly one result. Pure, so that the same history gives the same bytes.
 */

import type { JsonObject } from '../../lib/json.ts'
import { asRecord, isRecord, parseJson } from '../../lib/json.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  hasImages,
  type ImagePart,
  type ToolMessage,
  withoutImages,
} from '../../message/transcript.ts'
import type { ApiMode, RequestInput } from './provider.ts'

export interface NormalizedToolCall {
  readonly id: string
  readonly name: string
  /** JSON text of an object, also when the model wrote something else. */
  readonly arguments: string
  readonly input: JsonObject
}

interface NormalizedToolResult {
  readonly id: string
  readonly name: string
  readonly text: string
  readonly images?: readonly ImagePart[] | undefined
}

export interface NormalizedAssistantMessage {
  readonly role: 'assistant'
  /** One entry per stored message. Empty texts are left out. */
  readonly texts: readonly string[]
  readonly calls: readonly NormalizedToolCall[]
  /** The vendor's own items of this message, if the same API mode produced them. */
  readonly items: readonly unknown[]
}

export type NormalizedMessage =
  | {
      readonly role: 'user'
      /** One entry per stored message. */
      readonly texts: readonly string[]
      /** The texts with the pictures that follow each; absent without pictures. */
      readonly parts?: readonly (string | ImagePart)[] | undefined
    }
  | NormalizedAssistantMessage
  | { readonly role: 'results'; readonly results: readonly NormalizedToolResult[] }

export const MISSING_TOOL_RESULT = '{"error":"The result of this call is missing: the turn ended before the tool did."}'

/**
 * Groups adjacent messages of the same role, adds a stub for calls without a result, and removes results without a call and
 * assistant messages without content. A user message between results moves after them. Lone surrogates, which vendors'
 * parsers reject, become U+FFFD. Results of Chat Completions have no pictures, so there a user message shows them.
 */
export function normalizeMessages(
  stored: readonly ChatMessage[],
  apiMode: ApiMode,
  showsPictures = false,
): NormalizedMessage[] {
  const messages = showsPictures && stored.some(hasImages) ? selectPictures(stored) : withoutImages(stored)
  const normalized: NormalizedMessage[] = []
  const ids = new Set<string>()
  for (const [position, message] of messages.entries()) {
    if (message.role === 'user') addUser(normalized, message.content, message.images)
    if (message.role === 'assistant') addAssistant(normalized, message, resultsAfter(messages, position), apiMode, ids)
  }
  return normalized
}

/**
 * Removes the items that another model has created, or another server: they are signed or encrypted for their own, and what one
 * vendor wrote is no matter of another.
 */
export function withoutForeignItems(input: RequestInput, baseUrl: string): RequestInput {
  const isForeign = (message: ChatMessage) =>
    message.role === 'assistant' &&
    message.providerData !== undefined &&
    ((message.providerData.baseUrl ?? baseUrl) !== baseUrl ||
      (message.providerData.model ?? input.model) !== input.model)
  return input.messages.some(isForeign) ? { ...input, messages: withoutItems(input.messages, isForeign) } : input
}

/** The messages as their text and their calls alone. */
export function withoutItems(
  messages: readonly ChatMessage[],
  isMeant: (message: AssistantMessage) => boolean = () => true,
): readonly ChatMessage[] {
  return messages.map((message): ChatMessage => {
    if (message.role !== 'assistant' || message.providerData === undefined || !isMeant(message)) return message
    const { providerData: _items, ...plain } = message
    return plain
  })
}

/** Vendors accept more, but larger ones only up to so many. */
const maxPictures = 20
/** Limits the pictures of a request; in base64 they are a third larger. */
const maxPictureBytes = 20_000_000
/** So many leave a request together, so that its beginning is in the vendor's cache until the next ones do. */
const picturesPerStep = 5

/** The newest pictures. The messages name the files of all. */
function selectPictures(messages: readonly ChatMessage[]): ChatMessage[] {
  let hidden = countHidden(messages.map(picturesOf))
  return messages.map((message) => {
    if (message.role === 'assistant' || message.images === undefined) return message
    const { images, ...rest } = message
    const gone = Math.min(hidden, images.length)
    hidden -= gone
    if (gone === 0) return message
    const note = message.role === 'user' ? olderPicturesNote(gone) : ''
    const shown = images.slice(gone)
    return { ...rest, content: rest.content + note, ...(shown.length === 0 ? {} : { images: shown }) }
  })
}

function olderPicturesNote(count: number): string {
  return `\n\n[${count === 1 ? 'The first picture' : `The first ${count} pictures`} of this message can no longer be seen: a request has room for ${maxPictures} pictures and ${maxPictureBytes / 1_000_000} MB.]`
}

function picturesOf(message: ChatMessage): readonly ImagePart[] {
  return message.role === 'assistant' ? [] : (message.images ?? [])
}

/** How many of the oldest pictures do not fit. The pictures of the newest message stay as far as they fit. */
function countHidden(byMessage: readonly (readonly ImagePart[])[]): number {
  const all = byMessage.flat()
  const newest = byMessage.findLast((images) => images.length > 0) ?? []
  let bytes = 0
  let shown = 0
  for (const image of all.toReversed()) {
    bytes += image.bytes
    if (shown === maxPictures || bytes > maxPictureBytes) break
    shown += 1
  }
  const hidden = all.length - shown
  const inSteps = Math.ceil(hidden / picturesPerStep) * picturesPerStep
  return Math.max(hidden, Math.min(inSteps, all.length - newest.length))
}

/** The results between this message and the next assistant message; the first one for each call. */
function resultsAfter(messages: readonly ChatMessage[], position: number): ReadonlyMap<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let at = position + 1; at < messages.length; at += 1) {
    const message = messages[at]
    if (message?.role === 'assistant') break
    if (message?.role === 'tool' && !results.has(message.toolCallId)) results.set(message.toolCallId, message)
  }
  return results
}

function addUser(normalized: NormalizedMessage[], content: string, images: readonly ImagePart[] | undefined): void {
  const text = content.toWellFormed()
  const last = normalized.at(-1)
  const former = last?.role === 'user' ? last : undefined
  const parts = images ?? former?.parts
  const message: NormalizedMessage = {
    role: 'user',
    texts: former === undefined ? [text] : [...former.texts, text],
    parts: parts && [...(former?.parts ?? former?.texts ?? []), text, ...(images ?? [])],
  }
  if (former === undefined) normalized.push(message)
  else normalized[normalized.length - 1] = message
}

function addAssistant(
  normalized: NormalizedMessage[],
  message: AssistantMessage,
  results: ReadonlyMap<string, ToolMessage>,
  apiMode: ApiMode,
  ids: Set<string>,
): void {
  const text = message.content.toWellFormed()
  const calls: NormalizedToolCall[] = []
  const toolResults: NormalizedToolResult[] = []
  for (const call of message.toolCalls ?? []) {
    const id = uniqueId(call.id, ids)
    const name = sanitizeToolName(call.name)
    calls.push({ id, name, ...normalizeArguments(call.arguments) })
    const { content = MISSING_TOOL_RESULT, images } = results.get(call.id) ?? {}
    const text = markAsData(content.toWellFormed())
    toolResults.push({ id, name, text, images })
  }
  if (text.trim() === '' && calls.length === 0) return
  const last = normalized.at(-1)
  const items = message.providerData?.apiMode === apiMode ? message.providerData.items : []
  const texts = text === '' ? [] : [text]
  if (last?.role === 'assistant') {
    normalized[normalized.length - 1] = { role: 'assistant', texts: [...last.texts, ...texts], calls, items: [] }
  } else {
    normalized.push({ role: 'assistant', texts, calls, items })
  }
  if (toolResults.length === 0) return
  normalized.push({ role: 'results', results: toolResults })
  const shown = apiMode === 'chat_completions' ? toolResults.flatMap(({ images = [] }) => images) : []
  if (shown.length > 0) addUser(normalized, '[The pictures of the results above, not sent by the user]', shown)
}

/**
 * Marks what a tool returned as data. The text inside a JSON object cannot end its string; any other text gets tags, which it
 * cannot close either.
 */
function markAsData(result: string): string {
  if (result.startsWith('{') && isRecord(parseJson(result))) return result
  return `<tool_output>\n${result.replace(/<(?=\/?tool_output)/gi, '&lt;')}\n</tool_output>`
}

/**
 * The texts of several messages as one, for formats in which a message has a single text. A line marks where the next
 * message begins, so that the model does not read two messages as one.
 */
export function joinSeparateTexts(texts: readonly string[]): string {
  return texts.join('\n\n[Next message]\n\n')
}

/** Stands for the content of a picture in a request. It is replaced when the request is sent (`picture-body.ts`). */
export function pictureAddress({ file }: ImagePart): string {
  return `hermes-picture:${file}`
}

/** Vendors reject empty and repeated ids. A suffix makes those unique and leaves valid ids unchanged. */
function uniqueId(id: string, taken: Set<string>): string {
  const base = id === '' ? 'call' : id
  let unique = base
  for (let count = 2; taken.has(unique); count += 1) unique = `${base}_${count}`
  taken.add(unique)
  return unique
}

/** Models sometimes call tools by names that vendors reject in a request. */
function sanitizeToolName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown'
}

/** Valid arguments keep their bytes; others become a string inside an object. */
function normalizeArguments(text: string): { arguments: string; input: JsonObject } {
  if (text.trim() === '') return { arguments: '{}', input: {} }
  const input = parseJson(text)
  if (isRecord(input))
    return { arguments: text.toWellFormed(), input: hasSurrogateEscape(text) ? replaceLoneSurrogates(text) : input }
  const wrapped = { malformed_arguments: text.toWellFormed() }
  return { arguments: JSON.stringify(wrapped), input: wrapped }
}

function hasSurrogateEscape(text: string): boolean {
  return /\\ud[89a-f]/i.test(text)
}

/** `toWellFormed` does not see lone surrogates written as escapes, so they are replaced in the parsed values. */
function replaceLoneSurrogates(text: string): JsonObject {
  const value: unknown = JSON.parse(text, (_key, entry: unknown) =>
    typeof entry === 'string' ? entry.toWellFormed() : entry,
  )
  return asRecord(value)
}
