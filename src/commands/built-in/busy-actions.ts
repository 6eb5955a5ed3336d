/**
 * What `/queue`, `/steer` and `/busy` do. Loaded with the first of these commands.
 */

import { type BusyInputMode, busyInputModes } from '../../message/conversation-choices.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { BusyServices, EnqueueResult } from '../busy.ts'
import type { CommandContext } from '../command.ts'

export async function enqueue(
  mode: 'queue' | 'steer',
  { sessionKey, message, name, argsBefore = '' }: CommandContext,
  busy: BusyServices,
): Promise<string | TransactionPart<string>> {
  if (message === undefined) return `\`/${name}\` works only in a conversation.`
  const text = [argsBefore, textAfterCommand(message.event.text)].filter((part) => part !== '').join(' ')
  if (text === '' && message.event.attachments === undefined)
    return mode === 'queue'
      ? 'Write `/queue <message>`: I take the message when I am done with what I am doing.'
      : 'Write `/steer <message>`: I read the message after the current step, without starting again.'
  return busy.enqueue(sessionKey, message, { mode, text }, (result) => replyTexts[result])
}

/** Returns the text as it was typed: phones replace hyphens, which matters for commands only. */
function textAfterCommand(text: string): string {
  return text.trimStart().replace(/^\S+\s*/, '')
}

const replyTexts: Readonly<Record<EnqueueResult, string>> = {
  starts: '',
  waits: '⏳ Queued: I take your message when I am done.',
  interrupts: '',
  steers: '⏩ I read your message after the current step.',
  refused: '⚠️ I did not take your message: too many of your messages already wait in this conversation.',
}

export async function chooseBusyMode({ sessionKey, args }: CommandContext, busy: BusyServices): Promise<string> {
  const wanted = args.trim().toLowerCase()
  if (wanted === '' || wanted === 'status') {
    const { mode, isChosen } = await busy.modeOf(sessionKey)
    const origin = isChosen ? 'chosen for this conversation' : 'the setting of the gateway'
    return `While I work, your messages use the mode **${mode}** (${origin}).\n\n${modeList}`
  }
  if (!(await busy.choose(sessionKey, wanted === 'default' ? null : wanted)))
    return `There is no mode \`${wanted.slice(0, 40).toWellFormed()}\`.\n\n${modeList}`
  const { mode } = await busy.modeOf(sessionKey)
  return `While I work, your messages now use the mode **${mode}** in this conversation.`
}

const modeTexts: Readonly<Record<BusyInputMode, string>> = {
  interrupt: 'I stop and take your message next.',
  queue: 'each message waits for its turn.',
  steer: 'I read your message after the current step.',
  collect: 'I answer all waiting messages together.',
}

const modeList = [
  ...busyInputModes.map((mode) => `\`/busy ${mode}\`: ${modeTexts[mode]}`),
  '`/busy default`: the setting of the gateway.',
].join('\n')
