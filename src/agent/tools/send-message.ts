/**
 * Sends a message to a chat other than the one of the turn (contract §3.11). The message is stored together with the result of
 * the call, so that it is sent once even if the process ends in between.
 */
import { z } from 'zod'
import type { TransactionPart } from '../../store/query.ts'
import { toErrorJson } from '../support/result-json.ts'
import { defineToolCode, type ToolCaller } from './tool.ts'

const parameters = z.object({
  action: z.enum(['send', 'list']).optional().describe('list: the targets'),
  target: z.string().trim().max(500).optional().describe('platform, platform:chat_id, platform:#channel'),
  message: z.string().max(50_000).optional(),
  media: z.array(z.string().min(1).max(2_000)).max(10).optional().describe('paths of files'),
})

export interface MessagesPort {
  /** Absent where none can be sent. */
  chatMessagesOf?(call: ToolCaller): ChatMessages
}

export const createSendMessageTool = ({ chatMessagesOf }: MessagesPort) =>
  defineToolCode({
    name: 'send_message',
    description: 'Send to another chat. Your answer to the user needs no tool.',
    parameters,
    // The message is stored with the result: a call that a crash interrupted has sent nothing.
    mode: 'idempotent',
    label: ({ action, target = '' }) => (action === 'list' ? 'list' : target),

    async run({ action = 'send', target = '', message = '', media = [] }, context) {
      const { loop, signal } = context
      const chatMessages = chatMessagesOf?.(context)
      if (chatMessages === undefined || loop === undefined)
        return toErrorJson({ code: 'no_chats', reason: 'No messages can be sent to other chats here.' })
      if (action === 'list') return JSON.stringify({ targets: await chatMessages.list(signal) })
      if (target === '')
        return toErrorJson({ code: 'no_target', reason: 'Name a target; {"action":"list"} shows them.' })
      if (message.trim() === '' && media.length === 0)
        return toErrorJson({ code: 'no_message', reason: 'There is neither a message nor a file to send.' })
      const prepared = await chatMessages.prepare({ target, text: message, media }, signal)
      if ('problem' in prepared) return toErrorJson({ code: 'not_sent', reason: prepared.problem })
      const { write, ...where } = prepared
      if (write !== undefined) loop.writeWithResult(write)
      return JSON.stringify({ success: true, ...where })
    },
  })

/** Sends messages to other chats for the person who caused the turn. */
export interface ChatMessages {
  /**
   * Prepares a message; `write` stores it, and is absent for a target that is a file. `problem` says why it cannot be sent.
   * Rejects `store/…`, or with the signal's reason.
   */
  prepare(
    message: { readonly target: string; readonly text: string; readonly media: readonly string[] },
    signal: AbortSignal,
  ): Promise<
    | {
        readonly write?: TransactionPart
        readonly target: string
        readonly name?: string | undefined
        readonly path?: string
        readonly note?: string
      }
    | { readonly problem: string }
  >
  /** The targets to which messages may be sent. */
  list(signal: AbortSignal): Promise<readonly MessageTarget[]>
}

export interface MessageTarget {
  /** `<platform>:<chat_id>[:<thread_id>]` */
  readonly target: string
  readonly kind: 'origin' | 'home' | 'known' | 'channel'
  readonly name?: string | undefined
}
