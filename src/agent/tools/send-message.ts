/**
 * Sends a message to a chat other than the one of the turn (contract §3.11). The message is stored together with the result of
 * the call, so that it is sent once even if the process ends in between.
 */
import { z } from 'zod'
import { toErrorJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

const parameters = z.object({
  action: z.enum(['send', 'list']).optional().describe('list: the targets'),
  target: z.string().trim().max(500).optional().describe('platform, platform:chat_id, platform:#channel'),
  message: z.string().max(50_000).optional(),
  media: z.array(z.string().min(1).max(2_000)).max(10).optional().describe('paths of files'),
})

export const sendMessageTool = defineToolCode({
  name: 'send_message',
  description: 'Send to another chat. Your answer to the user needs no tool.',
  parameters,
  // The message is stored with the result: a call that a crash interrupted has sent nothing.
  mode: 'idempotent',
  label: ({ action, target = '' }) => (action === 'list' ? 'list' : target),

  async run({ action = 'send', target = '', message = '', media = [] }, { chatMessages, writeWithResult, signal }) {
    if (chatMessages === undefined || writeWithResult === undefined)
      return toErrorJson({ code: 'no_chats', reason: 'No messages can be sent to other chats here.' })
    if (action === 'list') return JSON.stringify({ targets: await chatMessages.list(signal) })
    if (target === '') return toErrorJson({ code: 'no_target', reason: 'Name a target; {"action":"list"} shows them.' })
    if (message.trim() === '' && media.length === 0)
      return toErrorJson({ code: 'no_message', reason: 'There is neither a message nor a file to send.' })
    const prepared = await chatMessages.prepare({ target, text: message, media }, signal)
    if ('problem' in prepared) return toErrorJson({ code: 'not_sent', reason: prepared.problem })
    const { write, ...where } = prepared
    if (write !== undefined) writeWithResult(write)
    return JSON.stringify({ success: true, ...where })
  },
})
