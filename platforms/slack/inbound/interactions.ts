/**
 * Reads button presses and the slash command.
 */
import { brand, type EventKey, type MessageEvent, parseCommand } from '#sdk'
import { type InboundEvent, ignored, type NormalizeContext } from './context.ts'
import { withCommandPrefix } from './message.ts'
import { type JsonRecord, recordAt, recordsAt, textAt, tsAt } from './payload.ts'
import { sourceOf } from './source.ts'
import { toPlainText } from './text.ts'

/** `block_actions`. */
export function normalizePress(payload: JsonRecord, context: NormalizeContext): InboundEvent {
  const [action = {}] = recordsAt(payload, 'actions')
  const user = recordAt(payload, 'user')
  const message = recordAt(payload, 'message')
  const container = recordAt(payload, 'container')
  const buttonId = textAt(action, 'value') ?? textAt(action, 'action_id')
  const channel = textAt(recordAt(payload, 'channel'), 'id') ?? textAt(container, 'channel_id')
  const messageTs = tsAt(message) ?? tsAt(container, 'message_ts')
  const userId = textAt(user, 'id')
  if (textAt(action, 'type') !== 'button') return ignored('not a button of the gateway')
  if (buttonId === undefined || channel === undefined || messageTs === undefined || userId === undefined) {
    return ignored('a button without a message')
  }
  const threadTs = tsAt(message, 'thread_ts') ?? tsAt(container, 'thread_ts')
  const userName = context.nameOf(userId) ?? textAt(user, 'username') ?? textAt(user, 'name')
  return {
    kind: 'press',
    // Without `ts`, because a message of the bot starts no thread.
    press: { source: sourceOf({ channel, threadTs }, { userId, userName }, context), buttonId, messageId: messageTs },
  }
}

/**
 * `/hermes status` is the command `status` if it exists, otherwise a message. The app may have slash commands for single ones:
 * `/hermes-stop`, or `/stop` where Slack has no such command of its own.
 */
export function normalizeSlash(payload: JsonRecord, context: NormalizeContext): InboundEvent {
  const channel = textAt(payload, 'channel_id')
  const userId = textAt(payload, 'user_id')
  const trigger = textAt(payload, 'trigger_id')
  if (channel === undefined || userId === undefined || trigger === undefined) {
    return ignored('a slash command without a channel or a user')
  }
  if (context.rules.ignoredChannels.includes(channel)) return ignored('the channel is ignored')
  const written = textAt(payload, 'text') ?? ''
  const command = ownCommand(textAt(payload, 'command') ?? '', context)
  const text = command === undefined ? slashText(written, context) : `/${command} ${plainText(written, context)}`.trim()
  const event: MessageEvent = {
    source: sourceOf(
      { channel },
      { userId, userName: context.nameOf(userId) ?? textAt(payload, 'user_name') },
      context,
    ),
    text,
    messageType: parseCommand({ text }) === null ? 'text' : 'command',
    timestamp: context.now(),
  }
  const key = brand<EventKey>(`sl:${context.identity.teamId}:cmd:${trigger}`)
  return { kind: 'slash', event, keys: [key] }
}

/** The command that a slash command of the app is made for; undefined for the one that is made for all. */
function ownCommand(slash: string, { isCommand }: NormalizeContext): string | undefined {
  const name = slash.toLowerCase().replace(/^\//, '')
  if (name === 'hermes') return undefined
  return [name.replace(/^hermes-/, ''), name].find(isCommand)
}

function plainText(written: string, { identity, nameOf }: NormalizeContext): string {
  return toPlainText(written.trim(), { botUserId: identity.botUserId, nameOf })
}

function slashText(written: string, context: NormalizeContext): string {
  const text = plainText(written, context)
  if (text === '') return context.isCommand('help') ? '/help' : 'help'
  const bare = text.replace(/^[!/]/, '')
  const [word = ''] = bare.split(/\s/, 1)
  return context.isCommand(word.toLowerCase()) ? `/${bare}` : withCommandPrefix(text, context)
}
