/**
 * Reads a range of lines of a text file, with line numbers.
 */
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { decodeText } from '../support/files.ts'
import { countOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const maxFileBytes = 16 * 1024 * 1024
const maxLineChars = 2_000
/** Counting lines does not hold the event loop longer than this many characters take. */
const charsPerPause = 512 * 1024

const parameters = z.object({
  path: z.string().min(1),
  offset: z.int().min(1).optional().describe('first line, from 1'),
  limit: z.int().min(1).optional(),
})

export const readFileTool = defineToolCode({
  name: 'read_file',
  description: 'Read lines of a text file, as `12|text`; next_offset says where to go on.',
  parameters,
  mode: 'pure',
  label: ({ path }) => path,
  summarize: ({ content, total_lines, next_offset }, { offset = 1 }) => {
    if (typeof content !== 'string' || typeof total_lines !== 'number') return ''
    const last = typeof next_offset === 'number' ? next_offset - 1 : total_lines
    return offset === 1 && last >= total_lines
      ? countOf('line', total_lines)
      : `lines ${offset}-${last} of ${total_lines}`
  },

  async run({ path, offset = 1, limit = 500 }, { environment, limits, conversation, signal }) {
    const read = await environment.files.read(path, {
      maxBytes: maxFileBytes,
      attachments: conversation.attachments,
      signal,
    })
    const file = read.ok ? decodeText(read.bytes, path) : read
    if (!file.ok) return toErrorJson(file)
    const { lines, total } = await linesFrom(file.text, offset, limit)
    if (offset > Math.max(1, total))
      return toErrorJson({ code: 'offset_too_large', reason: `${path} has only ${total} lines.` })
    const window = numberLines(lines, offset, limits.maxResultChars - 200)
    const next = offset + window.count
    const value = {
      content: window.text,
      total_lines: total,
      ...(next <= total && { next_offset: next }),
    }
    return toResultJson(value, limits.maxResultChars, 'content')
  },
})

/** Counts all lines, and copies at most `limit` of them. A line break at the end does not start another line. */
async function linesFrom(text: string, offset: number, limit: number) {
  const lines: string[] = []
  let total = 0
  let start = 0
  let pauseAt = charsPerPause
  while (start < text.length) {
    if (start >= pauseAt) {
      await setImmediate()
      pauseAt += charsPerPause
    }
    const lineBreak = text.indexOf('\n', start)
    const end = lineBreak === -1 ? text.length : lineBreak
    total += 1
    if (total >= offset && lines.length < limit) lines.push(text.slice(start, end))
    start = end + 1
  }
  return { lines, total }
}

/** Numbers the lines from `offset`, as many as fit into `maxChars` of JSON, but at least one. */
function numberLines(lines: readonly string[], offset: number, maxChars: number) {
  const taken: string[] = []
  let chars = 0
  for (const [index, line] of lines.entries()) {
    const content = line.endsWith('\r') ? line.slice(0, -1) : line
    const shown =
      content.length > maxLineChars ? `${content.slice(0, maxLineChars)}… (${content.length} characters)` : content
    const text = `${offset + index}|${shown}`
    chars += JSON.stringify(text).length
    if (chars > maxChars && taken.length > 0) break
    taken.push(text)
  }
  return { text: taken.join('\n'), count: taken.length }
}
