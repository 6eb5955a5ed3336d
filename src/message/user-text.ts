/**
 * What the model reads of a message: its text, and around it what it answers and what is attached.
 */
import type { MessageEvent } from './event.ts'

/** `shared`: several people talk in this session, so the line says who spoke. Pure. */
export function userText(event: MessageEvent, shared: boolean): string {
  const quoted = event.replyTo?.text
  const parts = [
    quoted === undefined || quoted === '' ? '' : `[In reply to: "${oneLine(quoted, 500)}"]`,
    ...(event.attachments ?? []).map(
      (file) => `[Attached ${file.kind}: ${file.path ?? file.fileName ?? file.url ?? 'no name'}]`,
    ),
    event.text,
  ]
  const text = parts.filter((part) => part !== '').join('\n')
  return shared ? `[${oneLine(event.source.userName ?? event.source.userId ?? 'somebody', 80)}] ${text}` : text
}

/** Names and quotes come from people: they must not be able to start a line of their own. */
function oneLine(text: string, limitChars: number): string {
  const flat = text.replace(/[\r\n\][]+/g, ' ').trim()
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}
