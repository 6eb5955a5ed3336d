/**
 * Sends, edits and deletes messages. Each call returns a result; only the outbox repeats calls.
 */
import {
  type AlbumSupport,
  createLruCache,
  messageOf,
  type OutboundAlbum,
  type OutboundMessage,
  type SendResult,
  type Target,
} from '#sdk'
import type { DiscordAccount } from '../account.ts'
import { codeOf, isRejected, toSendResult } from '../errors.ts'
import { asRecord, idAt, isSnowflake, type JsonRecord, textAt } from '../inbound/payload.ts'
import { nonceOf, type OutboundFile, renderEdit, renderMessage } from './render.ts'
import { createSentMessageSearch, lookupError } from './sent-message-search.ts'
import { parseVoice } from './voice.ts'

export type ResolveUnknownResult = { sent: true; messageId?: string } | { sent: false } | 'unknown'

export interface Sender {
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  readonly albums: AlbumSupport
  edit(messageId: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  remove(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Rejects, with a sentence for users, when the lookup fails. */
  resolveUnknown(message: OutboundMessage, signal: AbortSignal): Promise<ResolveUnknownResult>
  /** Takes a message of the bot from Discord's gateway, with its nonce. */
  recordEcho(message: JsonRecord): void
}

/** Limit of Discord. */
const maxFilesPerMessage = 10
const maxEchoes = 500
/** Voice messages are not allowed here, or not in this form. */
const voiceNotAllowedCodes: ReadonlySet<number | undefined> = new Set([50013, 50159, 50160, 50161, 50173])
/** Upload limit of a bot on a server without boosts, for error texts. */
const defaultUploadLimitMb = 10

export function createSender(account: DiscordAccount): Sender {
  const { api, threads, options } = account
  /** By nonce: the id of the message. */
  const echoes = createLruCache<string>(maxEchoes)
  const { findDraft, findInChannel } = createSentMessageSearch(account)

  return {
    async send(message, signal) {
      if (signal.aborted) return abortedResult
      if (!isValidTarget(message.target)) return rejectedResult('the target is not a channel of Discord')
      const file = await openFile(message)
      if (file !== undefined && 'success' in file) return file
      if (message.text.trim() === '' && file === undefined && message.attachment === undefined) {
        return rejectedResult('the message is empty')
      }
      return await sendWithFiles(message, file === undefined ? [] : [file], signal)
    },
    albums: createAlbums(sendWithFiles, resolveUnknown),
    async edit(messageId, message, signal) {
      if (signal.aborted) return abortedResult
      if (!isSnowflake(messageId) || !isValidTarget(message.target))
        return rejectedResult('this is not the id of a message')
      if (message.text.trim() === '') return rejectedResult('the message is empty')
      return await toSendResultOf(false, [], async () => {
        const body = await renderEdit(message, options.allowedMentions)
        await threads.withChannel(message.target, signal, (channelId) =>
          api.editMessage(channelId, messageId, body, signal),
        )
        return { success: true, messageId }
      })
    },
    async remove(target, messageId, signal) {
      if (signal.aborted) return abortedResult
      if (!isSnowflake(messageId) || !isValidTarget(target)) return rejectedResult('this is not the id of a message')
      return await toSendResultOf(false, [], async () => {
        await threads.withChannel(target, signal, (channelId) => api.deleteMessage(channelId, messageId, signal))
        return { success: true }
      })
    },
    async typing(target, signal) {
      if (signal.aborted) return abortedResult
      if (!isValidTarget(target)) return rejectedResult('the target is not a channel of Discord')
      return await toSendResultOf(false, [], async () => {
        await api.typing(threads.currentChannelId(target), signal)
        return { success: true }
      })
    },
    resolveUnknown,
    recordEcho(message) {
      const nonce = textAt(message, 'nonce')
      const id = idAt(message, 'id')
      if (nonce === undefined || id === undefined) return
      echoes.set(nonce, id)
    },
  }

  async function sendWithFiles(
    message: OutboundMessage,
    files: readonly OutboundFile[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    return await toSendResultOf(true, files, async () => {
      const sent = await threads.withChannel(message.target, signal, (channelId) =>
        post(message, channelId, files, signal),
      )
      return { success: true, messageId: idAt(asRecord(sent), 'id') }
    })
  }

  async function resolveUnknown(message: OutboundMessage, signal: AbortSignal): Promise<ResolveUnknownResult> {
    const nonce = nonceOf(message.deliveryId)
    const echoed = echoes.get(nonce)
    if (echoed !== undefined) return { sent: true, messageId: echoed }
    if (!isValidTarget(message.target)) return { sent: false }
    // A draft without a text is to be removed, so it must not be created.
    if (message.kind === 'draft') return message.text === '' ? 'unknown' : await repeatDraft(message, signal)
    let isSure = true
    for (const channelId of threads.channelIdsOf(message.target)) {
      const match = await findInChannel(channelId, message, nonce, signal)
      if (match === 'unsure') isSure = false
      else if (match !== undefined) return { sent: true, messageId: match }
    }
    return isSure ? { sent: false } : 'unknown'
  }

  async function post(
    message: OutboundMessage,
    channelId: string,
    files: readonly OutboundFile[],
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      const body = await renderMessage(message, channelId, options.allowedMentions, files)
      return await api.createMessage(channelId, body, files.map(withoutVoice), signal)
    } catch (error) {
      const isVoice = files.some(({ voice }) => voice !== undefined)
      if (!isVoice || !voiceNotAllowedCodes.has(codeOf(error))) throw error
      // The recording can still be sent as a file.
      return await post(message, channelId, files.map(withoutVoice), signal)
    }
  }

  /**
   * Sends a draft again: for the same nonce Discord returns the earlier message. A draft that it does not know is created,
   * which does no harm because the reply replaces it. Discord forgets a nonce after a few minutes, so the channel is read first.
   */
  async function repeatDraft(message: OutboundMessage, signal: AbortSignal): Promise<ResolveUnknownResult> {
    for (const channelId of threads.channelIdsOf(message.target)) {
      const messageId = await findDraft(channelId, message, signal)
      if (messageId !== undefined) return { sent: true, messageId }
    }
    try {
      const sent = await threads.withChannel(message.target, signal, (channelId) =>
        post(message, channelId, [], signal),
      )
      const messageId = idAt(asRecord(sent), 'id')
      return messageId === undefined ? 'unknown' : { sent: true, messageId }
    } catch (error) {
      if (isRejected(error)) return { sent: false }
      throw lookupError(error)
    }
  }
}

type SendWithFiles = (
  message: OutboundMessage,
  files: readonly OutboundFile[],
  signal: AbortSignal,
) => Promise<SendResult>

function createAlbums(sendWithFiles: SendWithFiles, resolveUnknown: Sender['resolveUnknown']): AlbumSupport {
  return {
    maxFiles: maxFilesPerMessage,
    // An image given by its URL is an embed, and a voice message can contain nothing else.
    groupOf: ({ kind, source }) => (source.kind === 'file' && kind !== 'voice' ? 'files' : undefined),
    async send(album, signal) {
      if (signal.aborted) return abortedResult
      if (!isValidTarget(album.target)) return rejectedResult('the target is not a channel of Discord')
      const message = toMessage(album)
      const files: OutboundFile[] = []
      for (const { attachment } of album.files) {
        const file = await openFile({ ...message, attachment })
        if (file === undefined) return rejectedResult(`${attachment.fileName} is not a local file`)
        if ('success' in file) return file
        files.push(file)
      }
      const result = await sendWithFiles(message, files, signal)
      if (!result.success) return result
      return { success: true, messageIds: idsOf(result.messageId) }
    },
    async resolveUnknown(album, signal) {
      const result = await resolveUnknown(toMessage(album), signal)
      if (result === 'unknown' || !result.sent) return result
      return { sent: true, messageIds: idsOf(result.messageId) }
    },
  }
}

/** One message contains all files. */
function idsOf(messageId: string | undefined): readonly string[] | undefined {
  return messageId === undefined ? undefined : [messageId]
}

/** Maps errors of Discord and of the network to a result. */
async function toSendResultOf(
  creates: boolean,
  files: readonly OutboundFile[],
  act: () => Promise<SendResult>,
): Promise<SendResult> {
  try {
    return await act()
  } catch (error) {
    const result = toSendResult(error, creates)
    const [file] = files
    if (file === undefined || files.length > 1 || result.problem !== 'rejected' || !isFileTooLarge(error)) return result
    const megabytes = (file.content.size / 1_000_000).toFixed(1)
    const detail = `the file ${file.name} has ${megabytes} MB; Discord usually accepts ${defaultUploadLimitMb} MB from a bot`
    return { ...result, error: `${detail}. ${result.error}` }
  }
}

function isFileTooLarge(error: unknown): boolean {
  return codeOf(error) === 40005 || (error instanceof Error && 'status' in error && error.status === 413)
}

/** Undefined without a file; a failure when it cannot be read. */
async function openFile({ attachment, text }: OutboundMessage): Promise<OutboundFile | SendResult | undefined> {
  if (attachment?.source.kind !== 'file') return undefined
  try {
    const blob = await attachment.source.open()
    const content = blob.type === '' ? new Blob([blob], { type: attachment.mimeType }) : blob
    const file = { name: attachment.fileName, content }
    // A voice message cannot have a text.
    if (attachment.kind !== 'voice' || text.trim() !== '') return file
    const voice = parseVoice(new Uint8Array(await content.arrayBuffer()))
    return voice === undefined ? file : { ...file, voice }
  } catch (error) {
    return rejectedResult(`the file ${attachment.fileName} cannot be read: ${messageOf(error)}`)
  }
}

function withoutVoice({ name, content }: OutboundFile): OutboundFile {
  return { name, content }
}

/** The message that contains all files. Its text are the captions. */
function toMessage({ files, ...album }: OutboundAlbum): OutboundMessage {
  const captions = files.map(({ caption }) => caption.trim()).filter((caption) => caption !== '')
  return { ...album, text: captions.join('\n') }
}

function isValidTarget({ chatId, threadId }: Target): boolean {
  return isSnowflake(chatId) && (threadId === undefined || isSnowflake(threadId))
}

function rejectedResult(error: string): SendResult {
  return { success: false, problem: 'rejected', error }
}

const abortedResult: SendResult = {
  success: false,
  problem: 'temporary',
  error: 'cancelled before the request was sent',
}
