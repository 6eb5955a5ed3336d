/**
 * The built-in commands that act on a session: `/new`, `/stop`, `/compress`, `/queue`, `/steer`, `/approve`, `/deny`,
 * `/yolo`, the choices for a conversation (`/busy`, `/verbose`, `/footer`, `/voice`); and `/pause`.
 */

import { busyInputModes, toolProgressModes } from '../../message/conversation-choices.ts'
import type { BusyServices } from '../busy.ts'
import type { ConversationChoices } from '../choices.ts'
import { defineCommand } from '../command.ts'
import type { AgentPause } from '../gateway.ts'
import type { SessionCompressor, SessionReset, StopControl, StopOutcome, TypedAnswers, YoloSwitch } from '../session.ts'

export const newCommand = defineCommand({
  name: 'new',
  aliases: ['reset'],
  description: 'Start a fresh conversation',
  argsHint: '[name]',
  changesForAll: true,
  destructiveEffect: 'ends this conversation: I will not remember it in the next one.',
  async run({ sessionKey, source, args }, session: SessionReset) {
    const { toTitle } = await import('./title.ts')
    const title = toTitle(session.withhold(args))
    await session.reset(sessionKey, source, title)
    return title === '' ? '✨ New conversation. What can I do for you?' : `✨ New conversation: ${title}`
  },
})

const stopReplies: Readonly<Record<StopOutcome, string>> = {
  stopped: '⏹ Stopped.',
  idle: 'I am not working on an answer here.',
  'of-another': 'I am working on the message of another person. As a guest you can stop only what you asked for.',
}

export const stopCommand = defineCommand({
  name: 'stop',
  description: 'Stop what I am doing',
  argsHint: '[task]',
  bypassesHooks: true,
  async run(context, control: StopControl) {
    const { sessionKey, args } = context
    if (/^(?:bg|sub)_\w+$/.test(args.trim()))
      return (await import('./task-actions.ts')).stopTask(context, await control.tasks())
    return stopReplies[await control.stopTurn(sessionKey, context)]
  },
})

export const queueCommand = defineCommand({
  name: 'queue',
  aliases: ['q'],
  description: 'Take a message when I am done with the current one',
  argsHint: '<message>',
  run: async (context, busy: BusyServices) => (await import('./busy-actions.ts')).enqueue('queue', context, busy),
})

export const steerCommand = defineCommand({
  name: 'steer',
  description: 'Tell me something while I go on working',
  argsHint: '<message>',
  run: async (context, busy: BusyServices) => (await import('./busy-actions.ts')).enqueue('steer', context, busy),
})

export const busyCommand = defineCommand({
  name: 'busy',
  description: 'Choose what your messages do while I work',
  choices: [...busyInputModes, 'default'],
  changesForAll: true,
  run: async (context, busy: BusyServices) => (await import('./busy-actions.ts')).chooseBusyMode(context, busy),
})

const maxFocusChars = 500

export const compressCommand = defineCommand({
  name: 'compress',
  aliases: ['compact'],
  description: 'Sum up what was said earlier, to save room',
  argsHint: '[what to keep]',
  changesForAll: true,
  async run({ sessionKey, source, args }, session: SessionCompressor) {
    const { messages, running } = await session.status(sessionKey)
    if (messages === 0) return 'There is nothing to compress: we have not said anything yet.'
    const focus = args.slice(0, maxFocusChars).toWellFormed()
    const says = running ? 'I will compress this conversation as soon as I am done.' : ''
    return session.compress(sessionKey, source, { focus, says })
  },
})

const maxReasonChars = 500

export const approveCommand = defineCommand({
  name: 'approve',
  description: 'Say yes to what I ask',
  argsHint: '[session|always|all]',
  bypassesHooks: true,
  answersQuestion: true,
  async run({ sessionKey, source, args }, questions: TypedAnswers) {
    const scope = args.toLowerCase()
    if (!['', 'session', 'always', 'all'].includes(scope))
      return 'Write `/approve`, or add `session`, `always` or `all`.'
    const all = scope === 'all'
    const words = scope === '' || all ? 'approve' : `approve ${scope}`
    return questions.answerTyped(sessionKey, { words, all, reason: '', by: source })
  },
})

export const denyCommand = defineCommand({
  name: 'deny',
  description: 'Say no to what I ask',
  argsHint: '[all] [reason]',
  bypassesHooks: true,
  answersQuestion: true,
  async run({ sessionKey, source, args }, questions: TypedAnswers) {
    const [first = ''] = args.split(/\s/, 1)
    const all = first.toLowerCase() === 'all'
    const reason = (all ? args.slice(first.length) : args).trim().slice(0, maxReasonChars).toWellFormed()
    return questions.answerTyped(sessionKey, { words: 'deny', all, reason, by: source })
  },
})

export const pauseCommand = defineCommand({
  name: 'pause',
  description: 'Pause the agent for everybody; messages wait',
  argsHint: '[reason|off]',
  minimumRole: 'owner',
  bypassesHooks: true,
  async run({ args }, agent: AgentPause) {
    if (args.trim().toLowerCase() === 'off')
      return (await agent.resume()) ? '▶️ The agent works again.' : 'The agent is not paused.'
    await agent.pause(args.trim())
    return '⏸ The agent is paused. Messages wait until `/pause off`, and commands still work.'
  },
})

export const yoloCommand = defineCommand({
  name: 'yolo',
  description: 'Run your commands without asking, in this conversation',
  minimumRole: 'owner',
  async run({ sessionKey, source }, yolo: YoloSwitch) {
    return (await yolo.toggle(sessionKey, source))
      ? '⚠️ **On**: I run your commands without asking until `/new` or the next `/yolo`. Forbidden commands still never run.'
      : '**Off**: I ask again before I run a command that needs approval.'
  },
})

export const verboseCommand = defineCommand({
  name: 'verbose',
  description: 'Show more or less of the tools that I use',
  choices: toolProgressModes,
  changesForAll: true,
  run: async (context, choices: ConversationChoices) =>
    (await import('./display-actions.ts')).verbose(context, choices),
})

export const footerCommand = defineCommand({
  name: 'footer',
  description: 'Show the model, tokens and time below my answers',
  choices: ['on', 'off', 'status'],
  changesForAll: true,
  run: async (context, choices: ConversationChoices) => (await import('./display-actions.ts')).footer(context, choices),
})

export const voiceCommand = defineCommand({
  name: 'voice',
  description: 'Hear my answers as voice messages',
  choices: ['on', 'off', 'tts', 'status'],
  changesForAll: true,
  run: async (context, choices: ConversationChoices) => (await import('./voice-actions.ts')).voice(context, choices),
})
