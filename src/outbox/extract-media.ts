/**
 * Takes the files that a reply wants sent out of its text (contract §3.8). Pure. What stands in code stays where it is.
 *
 * Works line by line from the top, and what it has decided no later line changes: so the text of a growing reply only
 * ever grows.
 */
import { type CodeFence, findCodeFences } from './code-fences.ts'
import { findInlineCode } from './inline-code.ts'
import { findMediaTags, type MediaDirective, type MediaItem, type MediaTag, markdownPrefix } from './media-tags.ts'

export interface ExtractedMedia {
  /** The text without the tags. */
  readonly text: string
  /** In the order of the text, each file once. */
  readonly items: readonly MediaItem[]
}

/** More than this in one reply is a listing: what comes after stays in the text. */
const maxItems = 20

/** Whether a text may hold a tag at all. Most hold none. */
const tagHint = /MEDIA:|\[\[a|!\[|<img|(?:^|\n)[ \t]*~?\//i

export function extractMedia(text: string): ExtractedMedia {
  if (!tagHint.test(text)) return { text, items: [] }
  const { text: kept, tags } = scanText(text.replace(/\r\n?/g, '\n'), false)
  if (tags.length === 0) return { text, items: [] }
  const directives = new Set(tags.map(({ value }) => value).filter(isDirective))
  const items = new Map<string, MediaItem>()
  for (const { value } of tags) {
    if (isDirective(value)) continue
    const { source } = value
    const address = source.kind === 'file' ? source.path : source.url
    if (!items.has(address)) items.set(address, applyDirectives(value, directives))
  }
  return { text: kept.trimEnd(), items: [...items.values()] }
}

/** What of a growing text can be shown: without its tags, and without an end that may become one. */
export function visibleDraftText(text: string): string {
  const unix = text.replace(/\r\n?/g, '\n')
  const lastLine = unix.lastIndexOf('\n') + 1
  const whole = unix.slice(0, lastLine)
  const { text: kept, undecided, openFence } = tagHint.test(whole) ? scanText(whole, true) : scanWithoutTags(whole)
  if (undecided) return kept.trimEnd()
  const end = unix.slice(lastLine)
  const fenced = openFence !== undefined && (openFence.quotePrefix === '' || /^[ \t]*>/.test(end))
  return `${kept}${fenced ? end : visibleLinePart(end)}`.trimEnd()
}

function isDirective(meaning: MediaTag['value']): meaning is MediaDirective {
  return typeof meaning === 'string'
}

function applyDirectives(item: MediaItem, directives: ReadonlySet<MediaDirective>): MediaItem {
  if (directives.has('as_document')) return { ...item, kind: 'document' }
  return directives.has('audio_as_voice') && item.voice === true ? { ...item, kind: 'voice' } : item
}

interface ScanResult {
  readonly text: string
  readonly tags: readonly MediaTag[]
  /** The end of the text is held back: whether a tag there is code is not decided yet. */
  readonly undecided: boolean
  /** The code fence that is still open at the end. */
  readonly openFence: CodeFence | undefined
}

function scanWithoutTags(text: string): ScanResult {
  return { text, tags: [], undecided: false, openFence: findOpenFence(findCodeFences(text), text) }
}

function findOpenFence(fences: readonly CodeFence[], text: string): CodeFence | undefined {
  const last = fences.at(-1)
  return last?.closeStart === text.length ? last : undefined
}

function scanText(text: string, isPartial: boolean): ScanResult {
  const fences = findCodeFences(text)
  const writer = createTextWriter()
  const tags: MediaTag[] = []
  let remaining = maxItems
  for (const block of splitBlocks(text, fences)) {
    if (block.code) {
      writer.code(text.slice(block.start, block.end))
      continue
    }
    const paragraph = text.slice(block.start, block.end)
    const { spans, unclosedStart } = findInlineCode(paragraph)
    // Backticks that find their like later make code of all between.
    const undecidedFrom =
      isPartial && block.end === text.length && !paragraph.endsWith('\n\n') ? unclosedStart : undefined
    let at = 0
    for (const line of splitLines(paragraph)) {
      const found = findMediaTags(line.replace('\n', '')).filter(({ start, end }) => {
        const [from, to] = [at + start, at + end]
        return !spans.some((span) => (span.start < from && from < span.end) || (span.start < to && to < span.end))
      })
      const undecidedTag = found.find(({ start }) => undecidedFrom !== undefined && undecidedFrom < at + start)
      if (undecidedTag !== undefined) {
        const before = line.slice(0, undecidedTag.start)
        const decided = found.filter(({ start }) => start < undecidedTag.start)
        if (decided.length > 0 || !markdownPrefix.test(before)) writer.line(before, decided)
        return { text: writer.text(), tags, undecided: true, openFence: undefined }
      }
      const accepted = found.filter(({ value }) => isDirective(value) || remaining-- > 0)
      tags.push(...accepted)
      writer.line(line, accepted)
      at += line.length
    }
  }
  return { text: writer.text(), tags, undecided: false, openFence: findOpenFence(fences, text) }
}

interface Block {
  readonly start: number
  readonly end: number
  readonly code: boolean
}

/** Code fences with their line breaks, and the paragraphs between them. */
function* splitBlocks(text: string, fences: readonly CodeFence[]): Generator<Block> {
  let from = 0
  for (const fence of fences) {
    yield* splitParagraphs(text, from, fence.start)
    const newline = text.indexOf('\n', fence.end)
    const end = newline === -1 ? text.length : newline + 1
    yield { start: fence.start, end, code: true }
    from = end
  }
  yield* splitParagraphs(text, from, text.length)
}

function* splitParagraphs(text: string, from: number, to: number): Generator<Block> {
  let start = from
  while (start < to) {
    const blank = text.indexOf('\n\n', start)
    const end = blank === -1 || blank + 2 > to ? to : blank + 2
    yield { start, end, code: false }
    start = end
  }
}

/** Lines with their line breaks. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Puts lines together again, and lets nothing be seen of where a tag stood. */
function createTextWriter() {
  const parts: string[] = []
  let afterBlank = true
  /** A line was taken away after a blank one: another blank line would make a hole. */
  let closing = false

  function put(text: string, blank: boolean): void {
    if (blank && closing) return
    parts.push(text)
    afterBlank = blank
    closing = false
  }

  return {
    text: () => parts.join(''),
    code: (text: string) => put(text, false),
    line(line: string, tags: readonly MediaTag[]) {
      if (tags.length === 0) return put(line, line.trim() === '')
      let rest = ''
      let at = 0
      for (const { start, end } of tags) {
        rest += line.slice(at, start)
        at = end
        if (rest === '' || /[ \t]$/.test(rest)) while (line[at] === ' ' || line[at] === '\t') at++
      }
      rest = `${rest}${line.slice(at)}`.trimEnd()
      if (isEmptyMarker(rest)) closing ||= afterBlank
      else put(line.endsWith('\n') ? `${rest}\n` : rest, false)
    },
  }
}

/** The mark of a list or a quote whose only content was a tag. */
function isEmptyMarker(line: string): boolean {
  return markdownPrefix.test(line) && !/^[ \t]*\d+$/.test(line)
}

/** Words that begin a tag, and what may follow so far. */
const tagPrefixes = [
  /(?<!\w)MEDIA:/,
  /\[\[(?:a(?:u(?:d|$)|s(?:_|$)|$)|$)/,
  /(?<!\\)!\[/,
  /<img\b/i,
  /(?<!\w)M(?:E(?:D(?:IA?)?)?)?$/,
  /\[$/,
  /!$/,
  /<(?:im?)?$/i,
]
/** May become a mark of a list, a fence, or a path alone on its line. */
const ambiguousLine = /^(?:[ \t>*_+`~-]*(?:\d{1,9}(?:[.)][ \t]*)?)?$|[ \t]*~?\/|[ \t>]*(?:```|~~~))/

/** How much of a line that is still being written is surely no tag. */
function visibleLinePart(line: string): string {
  if (ambiguousLine.test(line)) return ''
  const positions = tagPrefixes.map((candidate) => line.search(candidate)).filter((at) => at !== -1)
  const shown = positions.length === 0 ? line : line.slice(0, Math.min(...positions))
  return markdownPrefix.test(shown) ? '' : shown
}
