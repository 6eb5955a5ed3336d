/**
 * Sends and edits texts. When Telegram rejects the formatting, the text is sent once more without it.
 */
import type { OutboundMessage, SendResult } from '#sdk'
import { ApiError, rejected } from '../errors.ts'
import { type ChatCalls, callWithPlainFallback, sentResult } from './chat-calls.ts'
import { editRequest, renderText, sendRequest } from './render.ts'

const emptyTextResult = rejected('Telegram accepts no message without text.')
export const noSuchMessageResult = rejected('Telegram has no message with this id.')

/** Throws `ApiError`. */
export async function sendText(calls: ChatCalls, message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
  if (message.text.trim() === '') return emptyTextResult
  const body = await renderText(message.text)
  return sentResult(await callWithPlainFallback(calls, sendRequest(message, body), message.text, body, signal))
}

/** Throws `ApiError`. */
export async function editText(
  calls: ChatCalls,
  messageId: string,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  if (message.text.trim() === '') return emptyTextResult
  const body = await renderText(message.text)
  const request = editRequest(messageId, message, body)
  if (request === undefined) return noSuchMessageResult
  try {
    return sentResult(await callWithPlainFallback(calls, request, message.text, body, signal), messageId)
  } catch (error) {
    // An earlier attempt has already made this edit.
    if (error instanceof ApiError && error.matches(/message is not modified/i)) return { success: true, messageId }
    throw error
  }
}
