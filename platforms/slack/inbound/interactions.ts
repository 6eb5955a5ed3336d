/**
 * What people do with controls: buttons of our messages, and the slash command.
 */
import { brand, type EventKey, type MessageEvent, parseCommand } from '#sdk'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { withCommandPrefix } from './message.ts'
import { type JsonRecord, recordAt, recordsAt, textAt, tsAt } from './payload.ts'
import { sourceOf } from './source.ts'
import { toPlainText } from './text.ts'

/** `block_actions`. */
export function normalizePress(payload: JsonRecord, view: NormalizeContext): InboundEvent {
  const [action = {}] = recordsAt(payload, 'actions')
  const user = recordAt(payload, 'user')
  const message = recordAt(payload, 'message')
  const container = recordAt(payload, 'container')
  const buttonId = textAt(action, 'value') ?? textAt(action, 'action_id')
  const channel = textAt(recordAt(payload, 'channel'), 'id') ?? textAt(container, 'channel_id')
  const messageTs = tsAt(message) ?? tsAt(container, 'message_ts')
  const userId = textAt(user, 'id')
  if (textAt(action, 'type') !== 'button') return ignored('a control that is no button of ours')
  if (buttonId === undefined || channel === undefined || messageTs === undefined || userId === undefined) {
    return ignored('a button without a message')
  }
  const threadTs = tsAt(message, 'thread_ts') ?? tsAt(container, 'thread_ts')
  const userName = view.userNameOf(userId) ?? textAt(user, 'username') ?? textAt(user, 'name')
  return {
    kind: 'press',
    // No `ts`: the button stands in the message of ours, and that opens no thread.
    press: { source: sourceOf({ channel, threadTs }, { userId, userName }, view), buttonId, messageId: messageTs },
  }
}

/** `/hermes status`: a command where one has that name, else what the person says. */
export function normalizeSlash(payload: JsonRecord, view: NormalizeContext): InboundEvent {
  const channel = textAt(payload, 'channel_id')
  const userId = textAt(payload, 'user_id')
  const trigger = textAt(payload, 'trigger_id')
  if (channel === undefined || userId === undefined || trigger === undefined) {
    return ignored('a slash command without a channel or a person')
  }
  if (view.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const text = slashText(textAt(payload, 'text') ?? '', view)
  const event: MessageEvent = {
    source: sourceOf({ channel }, { userId, userName: view.userNameOf(userId) ?? textAt(payload, 'user_name') }, view),
    text,
    messageType: parseCommand({ text }) === null ? 'text' : 'command',
    timestamp: view.now(),
  }
  const key = brand<EventKey>(`sl:${view.identity.teamId}:cmd:${trigger}`)
  return { kind: 'slash', event, keys: [key] }
}

function slashText(written: string, view: NormalizeContext): string {
  const text = toPlainText(written.trim(), { botUserId: view.identity.botUserId, nameOf: view.userNameOf })
  if (text === '') return view.isCommand('help') ? '/help' : 'help'
  const bare = text.replace(/^[!/]/, '')
  const [word = ''] = bare.split(/\s/, 1)
  return view.isCommand(word.toLowerCase()) ? `/${bare}` : withCommandPrefix(text, view)
}
