/**
 * What the model reads of a message: its text, and around it what it answers and what is attached.
 */
import type { Attachment, MessageEvent } from './event.ts'

/** `shared`: several people talk in this session, so the line says who spoke. Pure. */
export function formatUserText(event: MessageEvent, shared: boolean): string {
  const quoted = event.replyTo?.text
  const parts = [
    quoted === undefined || quoted === '' ? '' : `[In reply to: "${oneLine(quoted, 500)}"]`,
    ...(event.attachments ?? []).map(attachmentLine),
    event.text,
  ]
  const text = parts.filter((part) => part !== '').join('\n')
  return shared ? `[${oneLine(event.source.userName ?? event.source.userId ?? 'somebody', 80)}] ${text}` : text
}

/** One line of a file: where it lies and what it is, or why it is not here. */
function attachmentLine(file: Attachment): string {
  const { kind, path, fileName = '', mimeType, bytes, problem, url } = file
  const what = kind === 'voice' ? 'The user sent a voice message' : `Attached ${kind}`
  const name = oneLine(baseName(fileName), 200)
  if (path === undefined) {
    const why = problem === undefined ? '' : ` (could not be fetched: ${oneLine(problem, 300)})`
    return `[${what}: ${name || oneLine(url ?? '', 2_000) || 'no name'}${why}]`
  }
  const facts = [name, oneLine(mimeType ?? '', 100), bytes === undefined ? '' : formatSize(bytes)].filter(
    (fact) => fact !== '',
  )
  // The form that voice messages have had from the first day: scripts look for it.
  return `[${what}: ${path}${kind === 'voice' || facts.length === 0 ? '' : ` (${facts.join(', ')})`}]`
}

/** Without folders: nobody, the model included, shall take a name for a path that leads somewhere. */
function baseName(name: string): string {
  return name.split(/[\\/]/).findLast((part) => !/^[\s.]*$/.test(part)) ?? ''
}

function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Names and quotes come from people: they must not be able to start a line of their own. */
function oneLine(text: string, limitChars: number): string {
  const flat = text.replace(/[\r\n\v\f\u0085\u2028\u2029\][]+/g, ' ').trim()
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}
