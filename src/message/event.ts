/**
 * A message as every platform hands it in (contract §3.1, `MessageEvent`), and how a command is read from it.
 */
import type { SessionSource, Target } from './source.ts'
import type { ChatMessage } from './transcript.ts'

export type MessageType =
  | 'text'
  | 'location'
  | 'photo'
  | 'video'
  | 'audio'
  | 'voice'
  | 'document'
  | 'sticker'
  | 'command'

export interface Attachment {
  readonly kind: 'photo' | 'video' | 'audio' | 'voice' | 'document' | 'sticker'
  /** A file under `$HERMES_HOME/media`, named by us. */
  readonly path?: string
  /** Where to fetch it from when it has not been downloaded. */
  readonly url?: string
  /** The platform's own name of the file, which its adapter turns into an address when the file is needed. */
  readonly ref?: string
  readonly mimeType?: string
  readonly fileName?: string
  readonly bytes?: number
  /** Why it could not be fetched, for the model to know. */
  readonly problem?: string
}

export interface MessageEvent {
  readonly source: SessionSource
  readonly text: string
  readonly messageType: MessageType
  /** The platform's id of the message, for replies and edits. */
  readonly messageId?: string
  /** When it was written, ms since 1970. */
  readonly timestamp: number
  readonly attachments?: readonly Attachment[]
  readonly replyTo?: {
    readonly messageId: string
    readonly text?: string
    readonly authorId?: string
    readonly authorName?: string
    readonly isOwnMessage?: boolean
  }
  /** Made by the gateway itself (cron, background results); skips access control. */
  readonly internal?: boolean
  /** False: a leading slash is text, not a command. */
  readonly allowGatewayControl?: boolean
  /** The transcript a stateless client brings along; used only when the session is new. */
  readonly seed?: {
    readonly messages: readonly ChatMessage[]
    /** Extra instructions of the client, appended to the system prompt of this session. */
    readonly instructions?: string
  }
  readonly metadata?: Readonly<Record<string, string>>
  /** Present where no chat waits for the answer: the event is a task that the gateway works on in the background. */
  readonly task?: BackgroundTask
  /** Present where the conversation is to be compressed, and the model asked nothing. `focus`: what to keep above all. */
  readonly compress?: { readonly focus: string }
}

/** What a background task is given along. Its `source` says who asked for it. */
export interface BackgroundTask {
  /** `bg_HHMMSS_<hex>` (contract §3.12). */
  readonly id: string
  /** Where the answer goes; null: it stays in the session of the task. */
  readonly deliver: Target | null
  /** Model calls, at most; never more than the configuration allows. */
  readonly maxIterations?: number
  /** What the turn is marked with, for whoever tells turns apart by their kind. */
  readonly route: string
}

export interface ParsedCommand {
  /** Lower case, without slash and `@bot` suffix. */
  readonly name: string
  /** Everything after the name, dashes normalised. */
  readonly args: string
}

/** The command of a message, or null where it is plain text or looks like a file path (contract §3.1). */
export function parseCommand(event: Pick<MessageEvent, 'text' | 'allowGatewayControl'>): ParsedCommand | null {
  if (event.allowGatewayControl === false) return null
  const text = event.text.trimStart()
  if (!text.startsWith('/')) return null
  const [first = ''] = text.split(/\s/, 1)
  const name = (first.slice(1).split('@', 1)[0] ?? '').toLowerCase()
  if (name === '' || name.includes('/')) return null
  return { name, args: normalizeDashes(text.slice(first.length).trim()) }
}

/** Phones turn `--` into dashes; commands want them back. */
function normalizeDashes(text: string): string {
  return text.replace(/——|—/g, '--').replace(/–/g, '-')
}
