/**
 * What people do with controls: buttons of our messages, and the slash command.
 */
import { brand, type EventKey, type MessageEvent, parseCommand } from '#sdk'
import { sourceOf } from './address.ts'
import { type Incoming, ignored, type View } from './incoming.ts'
import { readText } from './incoming-text.ts'
import { withCommandPrefix } from './normalize-message.ts'
import { type Fields, fieldsIn, listIn, textIn, tsIn } from './payload.ts'

/** `block_actions`. */
export function normalizePress(payload: Fields, view: View): Incoming {
  const [action = {}] = listIn(payload, 'actions')
  const user = fieldsIn(payload, 'user')
  const message = fieldsIn(payload, 'message')
  const container = fieldsIn(payload, 'container')
  const buttonId = textIn(action, 'value') ?? textIn(action, 'action_id')
  const channel = textIn(fieldsIn(payload, 'channel'), 'id') ?? textIn(container, 'channel_id')
  const messageTs = tsIn(message) ?? tsIn(container, 'message_ts')
  const userId = textIn(user, 'id')
  if (textIn(action, 'type') !== 'button') return ignored('a control that is no button of ours')
  if (buttonId === undefined || channel === undefined || messageTs === undefined || userId === undefined) {
    return ignored('a button without a message')
  }
  const threadTs = tsIn(message, 'thread_ts') ?? tsIn(container, 'thread_ts')
  const userName = view.nameOf(userId) ?? textIn(user, 'username') ?? textIn(user, 'name')
  return {
    kind: 'press',
    // No `ts`: the button stands in the message of ours, and that opens no thread.
    press: { source: sourceOf({ channel, threadTs }, { userId, userName }, view), buttonId, messageId: messageTs },
  }
}

/** `/hermes status`: a command where one has that name, else what the person says. */
export function normalizeSlash(payload: Fields, view: View): Incoming {
  const channel = textIn(payload, 'channel_id')
  const userId = textIn(payload, 'user_id')
  const trigger = textIn(payload, 'trigger_id')
  if (channel === undefined || userId === undefined || trigger === undefined) {
    return ignored('a slash command without a channel or a person')
  }
  if (view.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const text = slashText(textIn(payload, 'text') ?? '', view)
  const event: MessageEvent = {
    source: sourceOf({ channel }, { userId, userName: view.nameOf(userId) ?? textIn(payload, 'user_name') }, view),
    text,
    messageType: parseCommand({ text }) === null ? 'text' : 'command',
    timestamp: view.now(),
  }
  const key = brand<EventKey>(`sl:${view.identity.teamId}:cmd:${trigger}`)
  return { kind: 'slash', event, keys: [key] }
}

function slashText(written: string, view: View): string {
  const text = readText(written.trim(), { botUserId: view.identity.botUserId, nameOf: view.nameOf })
  if (text === '') return view.isCommand('help') ? '/help' : 'help'
  const bare = text.replace(/^[!/]/, '')
  const [word = ''] = bare.split(/\s/, 1)
  return view.isCommand(word.toLowerCase()) ? `/${bare}` : withCommandPrefix(text, view)
}
