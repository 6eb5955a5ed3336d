/**
 * Takes the files that a reply wants sent out of its text (contract §3.8). Pure. What stands in code stays where it is.
 *
 * Works line by line from the top, and what it has decided no later line changes: so the text of a growing reply only
 * ever grows.
 */
import { type Fence, findFences } from './fences.ts'
import { inlineCodeOf } from './inline-code.ts'
import { type Directive, type MediaItem, onlyMarks, type Tag, tagsOf } from './media-tags.ts'

export interface Extracted {
  /** The text without the tags. */
  readonly text: string
  /** In the order of the text, each file once. */
  readonly items: readonly MediaItem[]
}

/** More than this in one reply is a listing: what comes after stays in the text. */
const mostItems = 20

/** Whether a text may hold a tag at all. Most hold none. */
const hint = /MEDIA:|\[\[a|!\[|<img|(?:^|\n)[ \t]*~?\//i

export function extractMedia(text: string): Extracted {
  if (!hint.test(text)) return { text, items: [] }
  const { kept, tags } = scan(text.replace(/\r\n?/g, '\n'), false)
  if (tags.length === 0) return { text, items: [] }
  const directives = new Set(tags.map(({ meaning }) => meaning).filter(isDirective))
  const items = new Map<string, MediaItem>()
  for (const { meaning } of tags) {
    if (isDirective(meaning)) continue
    const { source } = meaning
    const address = source.kind === 'file' ? source.path : source.url
    if (!items.has(address)) items.set(address, directed(meaning, directives))
  }
  return { text: kept.trimEnd(), items: [...items.values()] }
}

/** What of a growing text can be shown: without its tags, and without an end that may become one. */
export function textSoFar(text: string): string {
  const unix = text.replace(/\r\n?/g, '\n')
  const lastLine = unix.lastIndexOf('\n') + 1
  const whole = unix.slice(0, lastLine)
  const { kept, held, inFence } = hint.test(whole) ? scan(whole, true) : plain(whole)
  if (held) return kept.trimEnd()
  const end = unix.slice(lastLine)
  const fenced = inFence !== undefined && (inFence.quote === '' || /^[ \t]*>/.test(end))
  return `${kept}${fenced ? end : shownOfLine(end)}`.trimEnd()
}

function isDirective(meaning: Tag['meaning']): meaning is Directive {
  return typeof meaning === 'string'
}

function directed(item: MediaItem, directives: ReadonlySet<Directive>): MediaItem {
  if (directives.has('as_document')) return { ...item, kind: 'document' }
  return directives.has('audio_as_voice') && item.voice === true ? { ...item, kind: 'voice' } : item
}

interface Scanned {
  readonly kept: string
  readonly tags: readonly Tag[]
  /** The end of the text is held back: whether a tag there is code is not decided yet. */
  readonly held: boolean
  /** The code fence that is still open at the end. */
  readonly inFence: Fence | undefined
}

function plain(text: string): Scanned {
  return { kept: text, tags: [], held: false, inFence: openFence(findFences(text), text) }
}

function openFence(fences: readonly Fence[], text: string): Fence | undefined {
  const last = fences.at(-1)
  return last?.shutAt === text.length ? last : undefined
}

function scan(text: string, growing: boolean): Scanned {
  const fences = findFences(text)
  const writer = createWriter()
  const tags: Tag[] = []
  let room = mostItems
  for (const block of blocksOf(text, fences)) {
    if (block.code) {
      writer.code(text.slice(block.start, block.end))
      continue
    }
    const paragraph = text.slice(block.start, block.end)
    const { spans, open } = inlineCodeOf(paragraph)
    // Backticks that find their like later make code of all between.
    const undecided = growing && block.end === text.length && !paragraph.endsWith('\n\n') ? open : undefined
    let at = 0
    for (const line of linesOf(paragraph)) {
      const found = tagsOf(line.replace('\n', '')).filter(({ start, end }) => {
        const [from, to] = [at + start, at + end]
        return !spans.some((span) => (span.start < from && from < span.end) || (span.start < to && to < span.end))
      })
      const doubtful = found.find(({ start }) => undecided !== undefined && undecided < at + start)
      if (doubtful !== undefined) {
        const before = line.slice(0, doubtful.start)
        const decided = found.filter(({ start }) => start < doubtful.start)
        if (decided.length > 0 || !onlyMarks.test(before)) writer.line(before, decided)
        return { kept: writer.text(), tags, held: true, inFence: undefined }
      }
      const taken = found.filter(({ meaning }) => isDirective(meaning) || room-- > 0)
      tags.push(...taken)
      writer.line(line, taken)
      at += line.length
    }
  }
  return { kept: writer.text(), tags, held: false, inFence: openFence(fences, text) }
}

interface Block {
  readonly start: number
  readonly end: number
  readonly code: boolean
}

/** Code fences with their line breaks, and the paragraphs between them. */
function* blocksOf(text: string, fences: readonly Fence[]): Generator<Block> {
  let from = 0
  for (const fence of fences) {
    yield* paragraphsOf(text, from, fence.start)
    const newline = text.indexOf('\n', fence.end)
    const end = newline === -1 ? text.length : newline + 1
    yield { start: fence.start, end, code: true }
    from = end
  }
  yield* paragraphsOf(text, from, text.length)
}

function* paragraphsOf(text: string, from: number, to: number): Generator<Block> {
  let start = from
  while (start < to) {
    const blank = text.indexOf('\n\n', start)
    const end = blank === -1 || blank + 2 > to ? to : blank + 2
    yield { start, end, code: false }
    start = end
  }
}

/** Lines with their line breaks. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Puts lines together again, and lets nothing be seen of where a tag stood. */
function createWriter() {
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
    line(line: string, tags: readonly Tag[]) {
      if (tags.length === 0) return put(line, line.trim() === '')
      let rest = ''
      let at = 0
      for (const { start, end } of tags) {
        rest += line.slice(at, start)
        at = end
        if (rest === '' || /[ \t]$/.test(rest)) while (line[at] === ' ' || line[at] === '\t') at++
      }
      rest = `${rest}${line.slice(at)}`.trimEnd()
      if (isLeftOver(rest)) closing ||= afterBlank
      else put(line.endsWith('\n') ? `${rest}\n` : rest, false)
    },
  }
}

/** The mark of a list or a quote whose only content was a tag. */
function isLeftOver(line: string): boolean {
  return onlyMarks.test(line) && !/^[ \t]*\d+$/.test(line)
}

/** Words that begin a tag, and what may follow so far. */
const candidates = [
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
const unsettled = /^(?:[ \t>*_+`~-]*(?:\d{1,9}(?:[.)][ \t]*)?)?$|[ \t]*~?\/|[ \t>]*(?:```|~~~))/

/** How much of a line that is still being written is surely no tag. */
function shownOfLine(line: string): string {
  if (unsettled.test(line)) return ''
  const places = candidates.map((candidate) => line.search(candidate)).filter((at) => at !== -1)
  const shown = places.length === 0 ? line : line.slice(0, Math.min(...places))
  return onlyMarks.test(shown) ? '' : shown
}
