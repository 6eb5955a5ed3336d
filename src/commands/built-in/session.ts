/**
 * The built-in commands that act on a session: `/new`, `/stop`, `/compress`, `/queue`, `/steer`, `/approve`, `/deny`,
 * `/yolo`, the choices for a conversation (`/busy`, `/verbose`, `/footer`, `/voice`); and `/pause`.
 */
import { busyInputModes, toolProgressModes } from '../../message/conversation-choices.ts'
import type { CommandDefinition, StopOutcome } from '../command.ts'
import { toTitle } from './title.ts'

export const newCommand: CommandDefinition = {
  name: 'new',
  aliases: ['reset'],
  description: 'Start a fresh conversation',
  argsHint: '[name]',
  queue: 'control',
  changesForAll: true,
  destructiveEffect: 'ends this conversation: I will not remember it in the next one.',
  async run({ sessionKey, source, args }, services) {
    const title = toTitle(services.withhold(args))
    await services.resetSession(sessionKey, source, title)
    return title === '' ? '✨ New conversation. What can I do for you?' : `✨ New conversation: ${title}`
  },
}

const stopReplies: Readonly<Record<StopOutcome, string>> = {
  stopped: '⏹ Stopped.',
  idle: 'I am not working on an answer here.',
  'of-another': 'I am working on the message of another person. As a guest you can stop only what you asked for.',
}

export const stopCommand: CommandDefinition = {
  name: 'stop',
  aliases: [],
  description: 'Stop what I am doing',
  argsHint: '[task]',
  queue: 'control',
  bypassesHooks: true,
  async run(context, services) {
    const { sessionKey, args } = context
    if (/^(?:bg|sub)_\w+$/.test(args.trim())) return (await import('./task-actions.ts')).stopTask(context, services)
    return stopReplies[await services.stopTurn(sessionKey, context)]
  },
}

export const queueCommand: CommandDefinition = {
  name: 'queue',
  aliases: ['q'],
  description: 'Take a message when I am done with the current one',
  argsHint: '<message>',
  queue: 'control',
  run: async (context, services) => (await import('./busy-actions.ts')).enqueue('queue', context, services),
}

export const steerCommand: CommandDefinition = {
  name: 'steer',
  aliases: [],
  description: 'Tell me something while I go on working',
  argsHint: '<message>',
  queue: 'control',
  run: async (context, services) => (await import('./busy-actions.ts')).enqueue('steer', context, services),
}

const busyChoices = [...busyInputModes, 'default']

export const busyCommand: CommandDefinition = {
  name: 'busy',
  aliases: [],
  description: 'Choose what your messages do while I work',
  argsHint: `[${busyChoices.join('|')}]`,
  choices: busyChoices,
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./busy-actions.ts')).chooseBusyMode(context, services),
}

const maxFocusChars = 500

export const compressCommand: CommandDefinition = {
  name: 'compress',
  aliases: ['compact'],
  description: 'Sum up what was said earlier, to save room',
  argsHint: '[what to keep]',
  queue: 'control',
  changesForAll: true,
  async run({ sessionKey, source, args }, services) {
    const { messages, running } = await services.sessionStatus(sessionKey)
    if (messages === 0) return 'There is nothing to compress: we have not said anything yet.'
    const focus = args.slice(0, maxFocusChars).toWellFormed()
    const says = running ? 'I will compress this conversation as soon as I am done.' : ''
    return services.compressSession(sessionKey, source, { focus, says })
  },
}

const maxReasonChars = 500

export const approveCommand: CommandDefinition = {
  name: 'approve',
  aliases: [],
  description: 'Say yes to what I ask',
  argsHint: '[session|always|all]',
  queue: 'control',
  bypassesHooks: true,
  answersQuestion: true,
  async run({ sessionKey, source, args }, services) {
    const scope = args.toLowerCase()
    if (!['', 'session', 'always', 'all'].includes(scope))
      return 'Write `/approve`, or add `session`, `always` or `all`.'
    const all = scope === 'all'
    const words = scope === '' || all ? 'approve' : `approve ${scope}`
    return services.answerQuestion(sessionKey, { words, all, reason: '', by: source })
  },
}

export const denyCommand: CommandDefinition = {
  name: 'deny',
  aliases: [],
  description: 'Say no to what I ask',
  argsHint: '[all] [reason]',
  queue: 'control',
  bypassesHooks: true,
  answersQuestion: true,
  async run({ sessionKey, source, args }, services) {
    const [first = ''] = args.split(/\s/, 1)
    const all = first.toLowerCase() === 'all'
    const reason = (all ? args.slice(first.length) : args).trim().slice(0, maxReasonChars).toWellFormed()
    return services.answerQuestion(sessionKey, { words: 'deny', all, reason, by: source })
  },
}

export const pauseCommand: CommandDefinition = {
  name: 'pause',
  aliases: [],
  description: 'Pause the agent for everybody; messages wait',
  argsHint: '[reason|off]',
  queue: 'control',
  minimumRole: 'owner',
  bypassesHooks: true,
  async run({ args }, services) {
    if (args.trim().toLowerCase() === 'off')
      return (await services.resumeAgent()) ? '▶️ The agent works again.' : 'The agent is not paused.'
    await services.pauseAgent(args.trim())
    return '⏸ The agent is paused. Messages wait until `/pause off`, and commands still work.'
  },
}

export const yoloCommand: CommandDefinition = {
  name: 'yolo',
  aliases: [],
  description: 'Run your commands without asking, in this conversation',
  argsHint: '',
  queue: 'control',
  minimumRole: 'owner',
  async run({ sessionKey, source }, services) {
    return (await services.toggleYolo(sessionKey, source))
      ? '⚠️ **On**: I run your commands without asking until `/new` or the next `/yolo`. Forbidden commands still never run.'
      : '**Off**: I ask again before I run a command that needs approval.'
  },
}

export const verboseCommand: CommandDefinition = {
  name: 'verbose',
  aliases: [],
  description: 'Show more or less of the tools that I use',
  argsHint: `[${toolProgressModes.join('|')}]`,
  choices: toolProgressModes,
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./display-actions.ts')).verbose(context, services),
}

export const footerCommand: CommandDefinition = {
  name: 'footer',
  aliases: [],
  description: 'Show the model, tokens and time below my answers',
  argsHint: '[on|off|status]',
  choices: ['on', 'off', 'status'],
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./display-actions.ts')).footer(context, services),
}

const voiceChoices = ['on', 'off', 'tts', 'status']

export const voiceCommand: CommandDefinition = {
  name: 'voice',
  aliases: [],
  description: 'Hear my answers as voice messages',
  argsHint: `[${voiceChoices.join('|')}]`,
  choices: voiceChoices,
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./voice-actions.ts')).voice(context, services),
}
