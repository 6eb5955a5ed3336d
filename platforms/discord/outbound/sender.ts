/**
 * The sending half of the adapter: each call says what became of it, and none is repeated here.
 */
import { createLruCache, messageOf, type OutboundMessage, type SendResult, type Target } from '#sdk'
import type { Api } from '../connection/api.ts'
import { codeOf, describeError, toSendResult } from '../errors.ts'
import { asRecord, idAt, isRecord, isSnowflake, type JsonRecord, recordAt, textAt } from '../inbound/payload.ts'
import type { DiscordOptions } from '../options.ts'
import { nonceOf, type OutboundFile, renderEdit, renderMessage } from './render.ts'
import type { ThreadOpener } from './threads.ts'
import { parseVoice } from './voice.ts'

export interface SenderDeps {
  readonly api: Api
  readonly threads: ThreadOpener
  readonly options: DiscordOptions
  /** The bot's user id; undefined before it is known. */
  botId(): string | undefined
}

export type ResolveUnknownResult = { sent: true; messageId?: string } | { sent: false } | 'unknown'

export interface Sender {
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  edit(messageId: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  remove(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Rejects, in words for people, where Discord cannot be asked now: then nothing is known yet. */
  resolveUnknown(message: OutboundMessage, signal: AbortSignal): Promise<ResolveUnknownResult>
  /** A message of ours was seen on the gateway, with its nonce. */
  recordEcho(message: JsonRecord): void
}

/** So many messages are looked through for one whose answer was lost. */
const maxLookback = 100
/** Drafts of other conversations in the same chat may have come after it. */
const ownMessagesCompared = 5
const maxEchoes = 500
const unknownChannelCode = 10003
const missingAccessCode = 50001
/** Voice messages are not allowed here, or not in this form. */
const voiceNotAllowedCodes: ReadonlySet<number | undefined> = new Set([50013, 50159, 50160, 50161, 50173])
/** What a bot may upload where nobody pays for more, for the words of a refusal. */
const defaultUploadLimitMb = 10

export function createSender({ api, threads, options, botId: me }: SenderDeps): Sender {
  /** By nonce: the id of the message. */
  const echoes = createLruCache<string>(maxEchoes)

  return {
    async send(message, signal) {
      if (signal.aborted) return abortedResult
      if (!isValidTarget(message.target)) return rejectedResult('the address is not one of Discord')
      const file = await openFile(message)
      if (file !== undefined && 'success' in file) return file
      if (message.text.trim() === '' && file === undefined && message.attachment === undefined) {
        return rejectedResult('the message is empty')
      }
      return await toSendResultOf(true, file, async () => {
        const sent = await threads.withChannel(message.target, signal, (place) => post(message, place, file, signal))
        const messageId = idAt(asRecord(sent), 'id')
        return { success: true, ...(messageId === undefined ? {} : { messageId }) }
      })
    },
    async edit(messageId, message, signal) {
      if (signal.aborted) return abortedResult
      if (!isSnowflake(messageId) || !isValidTarget(message.target))
        return rejectedResult('no message of Discord has this id')
      if (message.text.trim() === '') return rejectedResult('the message is empty')
      return await toSendResultOf(false, undefined, async () => {
        const body = await renderEdit(message, options.allowedMentions)
        await threads.withChannel(message.target, signal, (place) => api.editMessage(place, messageId, body, signal))
        return { success: true, messageId }
      })
    },
    async remove(target, messageId, signal) {
      if (signal.aborted) return abortedResult
      if (!isSnowflake(messageId) || !isValidTarget(target)) return rejectedResult('no message of Discord has this id')
      return await toSendResultOf(false, undefined, async () => {
        await threads.withChannel(target, signal, (place) => api.deleteMessage(place, messageId, signal))
        return { success: true }
      })
    },
    async typing(target, signal) {
      if (signal.aborted) return abortedResult
      if (!isValidTarget(target)) return rejectedResult('the address is not one of Discord')
      return await toSendResultOf(false, undefined, async () => {
        await api.typing(threads.currentChannelId(target), signal)
        return { success: true }
      })
    },
    async resolveUnknown(message, signal) {
      const nonce = nonceOf(message.deliveryId)
      const echoed = echoes.get(nonce)
      if (echoed !== undefined) return { sent: true, messageId: echoed }
      if (!isValidTarget(message.target)) return { sent: false }
      let isSure = true
      for (const place of threads.channelIdsOf(message.target)) {
        const found = await findInChannel(place, message, nonce, signal)
        if (found === 'unsure') isSure = false
        else if (found !== undefined) return { sent: true, messageId: found }
      }
      return isSure ? { sent: false } : 'unknown'
    },
    recordEcho(message) {
      const nonce = textAt(message, 'nonce')
      const id = idAt(message, 'id')
      if (nonce === undefined || id === undefined) return
      echoes.set(nonce, id)
    },
  }

  async function post(
    message: OutboundMessage,
    place: string,
    file: OutboundFile | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      const body = await renderMessage(message, place, options.allowedMentions, file)
      return await api.createMessage(place, body, toUpload(file), signal)
    } catch (error) {
      if (file?.voice === undefined || !voiceNotAllowedCodes.has(codeOf(error))) throw error
      // The recording can still be heard as a file.
      return await post(message, place, { name: file.name, content: file.content }, signal)
    }
  }

  /**
   * The id of the message; 'unsure' where one of our newest reads the same, or where the look did not reach any of ours.
   * Messages of one chat go out one after the other: one whose answer was lost is followed by none.
   */
  async function findInChannel(
    place: string,
    message: OutboundMessage,
    nonce: string,
    signal: AbortSignal,
  ): Promise<string | 'unsure' | undefined> {
    const recent = await newestMessages(place, signal)
    const own = recent.filter((one) => idAt(recordAt(one, 'author'), 'id') === me())
    const marked = own.find((one) => textAt(one, 'nonce') === nonce)
    if (marked !== undefined) return idAt(marked, 'id')
    const content = textAt(await renderMessage(message, place, options.allowedMentions), 'content')?.trim()
    const isAlike = own.slice(0, ownMessagesCompared).some((one) => {
      return one['nonce'] === undefined && textAt(one, 'content')?.trim() === content
    })
    return isAlike || (own.length === 0 && recent.length >= maxLookback) ? 'unsure' : undefined
  }

  async function newestMessages(place: string, signal: AbortSignal): Promise<readonly JsonRecord[]> {
    try {
      const answer = await api.newestMessages(place, maxLookback, signal)
      return Array.isArray(answer) ? answer.filter(isRecord) : []
    } catch (error) {
      const code = codeOf(error)
      // A thread that was never opened, or a place that the bot cannot have written in.
      if (code === unknownChannelCode || code === missingAccessCode) return []
      throw new Error(`whether the message has arrived cannot be looked up: ${describeError(error)}`, { cause: error })
    }
  }
}

/** Turns what Discord and the network say into a result. */
async function toSendResultOf(
  creates: boolean,
  file: OutboundFile | undefined,
  act: () => Promise<SendResult>,
): Promise<SendResult> {
  try {
    return await act()
  } catch (error) {
    const result = toSendResult(error, creates)
    if (file === undefined || result.problem !== 'rejected' || !isFileTooLarge(error)) return result
    const megabytes = (file.content.size / 1_000_000).toFixed(1)
    const told = `the file ${file.name} has ${megabytes} MB; Discord usually takes ${defaultUploadLimitMb} MB from a bot`
    return { ...result, error: `${told}. ${result.error}` }
  }
}

function isFileTooLarge(error: unknown): boolean {
  return codeOf(error) === 40005 || (error instanceof Error && 'status' in error && error.status === 413)
}

/** Undefined where there is none to upload; a result where it cannot be read any more. */
async function openFile({ attachment, text }: OutboundMessage): Promise<OutboundFile | SendResult | undefined> {
  if (attachment?.source.kind !== 'file') return undefined
  try {
    const blob = await attachment.source.open()
    const content = blob.type === '' ? new Blob([blob], { type: attachment.mimeType }) : blob
    const file = { name: attachment.fileName, content }
    // A voice message cannot have words beside it.
    if (attachment.kind !== 'voice' || text.trim() !== '') return file
    const voice = parseVoice(new Uint8Array(await content.arrayBuffer()))
    return voice === undefined ? file : { ...file, voice }
  } catch (error) {
    return rejectedResult(`the file ${attachment.fileName} cannot be read: ${messageOf(error)}`)
  }
}

function toUpload(file: OutboundFile | undefined) {
  return file === undefined ? undefined : { name: file.name, content: file.content }
}

function isValidTarget({ chatId, threadId }: Target): boolean {
  return isSnowflake(chatId) && (threadId === undefined || isSnowflake(threadId))
}

function rejectedResult(error: string): SendResult {
  return { success: false, problem: 'rejected', error }
}

const abortedResult: SendResult = { success: false, problem: 'temporary', error: 'called off before Discord was asked' }
