/**
 * The sending half of the adapter: each call says what became of it, and none is repeated here.
 */
import { createRecent, messageOf, type OutboundMessage, type SendResult, type Target } from '#sdk'
import type { Api } from './api.ts'
import { codeOf, explain, resultOf } from './errors.ts'
import type { Options } from './options.ts'
import { type File, nonceOf, renderEdit, renderMessage } from './render.ts'
import type { Threads } from './threads.ts'
import { readVoice } from './voice.ts'
import { asObject, idAt, isId, isObject, type Json, objectAt, textAt } from './wire.ts'

export interface SendingDeps {
  readonly api: Api
  readonly threads: Threads
  readonly options: Options
  /** The bot's user id; undefined before it is known. */
  me(): string | undefined
}

export type Resolution = { sent: true; messageId?: string } | { sent: false } | 'unknown'

export interface Sending {
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  edit(messageId: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
  remove(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>
  typing(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Rejects, in words for people, where Discord cannot be asked now: then nothing is known yet. */
  resolveUnknown(message: OutboundMessage, signal: AbortSignal): Promise<Resolution>
  /** A message of ours was seen on the gateway, with its nonce. */
  echoed(message: Json): void
}

/** So many messages are looked through for one whose answer was lost. */
const lookBack = 100
/** Drafts of other conversations in the same chat may have come after it. */
const newestOnes = 5
const echoLimit = 500
const channelGone = 10003
const cannotSee = 50001
/** Voice messages are not allowed here, or not in this form. */
const noVoiceHere: ReadonlySet<number | undefined> = new Set([50013, 50159, 50160, 50161, 50173])
/** What a bot may upload where nobody pays for more, for the words of a refusal. */
const usualUploadMb = 10

export function createSending({ api, threads, options, me }: SendingDeps): Sending {
  /** By nonce: the id of the message. */
  const echoes = createRecent<string>(echoLimit)

  return {
    async send(message, signal) {
      if (signal.aborted) return calledOff
      if (!hasPlace(message.target)) return rejected('the address is not one of Discord')
      const file = await fileOf(message)
      if (file !== undefined && 'success' in file) return file
      if (message.text.trim() === '' && file === undefined && message.attachment === undefined) {
        return rejected('the message is empty')
      }
      return await attempt(true, file, async () => {
        const sent = await threads.within(message.target, signal, (place) => post(message, place, file, signal))
        const messageId = idAt(asObject(sent), 'id')
        return { success: true, ...(messageId === undefined ? {} : { messageId }) }
      })
    },
    async edit(messageId, message, signal) {
      if (signal.aborted) return calledOff
      if (!isId(messageId) || !hasPlace(message.target)) return rejected('no message of Discord has this id')
      if (message.text.trim() === '') return rejected('the message is empty')
      return await attempt(false, undefined, async () => {
        const body = await renderEdit(message, options.mentions)
        await threads.within(message.target, signal, (place) => api.editMessage(place, messageId, body, signal))
        return { success: true, messageId }
      })
    },
    async remove(target, messageId, signal) {
      if (signal.aborted) return calledOff
      if (!isId(messageId) || !hasPlace(target)) return rejected('no message of Discord has this id')
      return await attempt(false, undefined, async () => {
        await threads.within(target, signal, (place) => api.deleteMessage(place, messageId, signal))
        return { success: true }
      })
    },
    async typing(target, signal) {
      if (signal.aborted) return calledOff
      if (!hasPlace(target)) return rejected('the address is not one of Discord')
      return await attempt(false, undefined, async () => {
        await api.typing(threads.placeNow(target), signal)
        return { success: true }
      })
    },
    async resolveUnknown(message, signal) {
      const nonce = nonceOf(message.deliveryId)
      const echoed = echoes.get(nonce)
      if (echoed !== undefined) return { sent: true, messageId: echoed }
      if (!hasPlace(message.target)) return { sent: false }
      let isSure = true
      for (const place of threads.placesOf(message.target)) {
        const found = await lookIn(place, message, nonce, signal)
        if (found === 'unsure') isSure = false
        else if (found !== undefined) return { sent: true, messageId: found }
      }
      return isSure ? { sent: false } : 'unknown'
    },
    echoed(message) {
      const nonce = textAt(message, 'nonce')
      const id = idAt(message, 'id')
      if (nonce === undefined || id === undefined) return
      echoes.set(nonce, id)
    },
  }

  async function post(
    message: OutboundMessage,
    place: string,
    file: File | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      const body = await renderMessage(message, place, options.mentions, file)
      return await api.createMessage(place, body, upload(file), signal)
    } catch (error) {
      if (file?.voice === undefined || !noVoiceHere.has(codeOf(error))) throw error
      // The recording can still be heard as a file.
      return await post(message, place, { name: file.name, content: file.content }, signal)
    }
  }

  /**
   * The id of the message; 'unsure' where one of our newest reads the same, or where the look did not reach any of ours.
   * Messages of one chat go out one after the other: one whose answer was lost is followed by none.
   */
  async function lookIn(
    place: string,
    message: OutboundMessage,
    nonce: string,
    signal: AbortSignal,
  ): Promise<string | 'unsure' | undefined> {
    const recent = await newestMessages(place, signal)
    const own = recent.filter((one) => idAt(objectAt(one, 'author'), 'id') === me())
    const marked = own.find((one) => textAt(one, 'nonce') === nonce)
    if (marked !== undefined) return idAt(marked, 'id')
    const content = textAt(await renderMessage(message, place, options.mentions), 'content')?.trim()
    const isAlike = own.slice(0, newestOnes).some((one) => {
      return one['nonce'] === undefined && textAt(one, 'content')?.trim() === content
    })
    return isAlike || (own.length === 0 && recent.length >= lookBack) ? 'unsure' : undefined
  }

  async function newestMessages(place: string, signal: AbortSignal): Promise<readonly Json[]> {
    try {
      const answer = await api.newestMessages(place, lookBack, signal)
      return Array.isArray(answer) ? answer.filter(isObject) : []
    } catch (error) {
      const code = codeOf(error)
      // A thread that was never opened, or a place that the bot cannot have written in.
      if (code === channelGone || code === cannotSee) return []
      throw new Error(`whether the message has arrived cannot be looked up: ${explain(error)}`, { cause: error })
    }
  }
}

/** Turns what Discord and the network say into a result. */
async function attempt(creates: boolean, file: File | undefined, act: () => Promise<SendResult>): Promise<SendResult> {
  try {
    return await act()
  } catch (error) {
    const result = resultOf(error, creates)
    if (file === undefined || result.problem !== 'rejected' || !isTooLarge(error)) return result
    const megabytes = (file.content.size / 1_000_000).toFixed(1)
    const told = `the file ${file.name} has ${megabytes} MB; Discord usually takes ${usualUploadMb} MB from a bot`
    return { ...result, error: `${told}. ${result.error}` }
  }
}

function isTooLarge(error: unknown): boolean {
  return codeOf(error) === 40005 || (error instanceof Error && 'status' in error && error.status === 413)
}

/** Undefined where there is none to upload; a result where it cannot be read any more. */
async function fileOf({ attachment, text }: OutboundMessage): Promise<File | SendResult | undefined> {
  if (attachment?.source.kind !== 'file') return undefined
  try {
    const blob = await attachment.source.open()
    const content = blob.type === '' ? new Blob([blob], { type: attachment.mimeType }) : blob
    const file = { name: attachment.fileName, content }
    // A voice message cannot have words beside it.
    if (attachment.kind !== 'voice' || text.trim() !== '') return file
    const voice = readVoice(new Uint8Array(await content.arrayBuffer()))
    return voice === undefined ? file : { ...file, voice }
  } catch (error) {
    return rejected(`the file ${attachment.fileName} cannot be read: ${messageOf(error)}`)
  }
}

function upload(file: File | undefined) {
  return file === undefined ? undefined : { name: file.name, content: file.content }
}

function hasPlace({ chatId, threadId }: Target): boolean {
  return isId(chatId) && (threadId === undefined || isId(threadId))
}

function rejected(error: string): SendResult {
  return { success: false, problem: 'rejected', error }
}

const calledOff: SendResult = { success: false, problem: 'temporary', error: 'called off before Discord was asked' }
