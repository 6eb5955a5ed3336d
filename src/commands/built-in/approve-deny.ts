/** `/approve` and `/deny`: answers to what waits for one, where there are no buttons (contract §3.9). */
import type { CommandDefinition } from '../command.ts'

const maxReasonChars = 500

export const approveCommand: CommandDefinition = {
  name: 'approve',
  aliases: [],
  description: 'Say yes to what I ask',
  argsHint: '[session|always|all]',
  queue: 'control',
  bypassesHooks: true,
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
  async run({ sessionKey, source, args }, services) {
    const [first = ''] = args.split(/\s/, 1)
    const all = first.toLowerCase() === 'all'
    const reason = (all ? args.slice(first.length) : args).trim().slice(0, maxReasonChars).toWellFormed()
    return services.answerQuestion(sessionKey, { words: 'deny', all, reason, by: source })
  },
}
