/**
 * Ending other processes, and meddling with the gateway itself.
 */

import { literalText, sourceText } from '../field.ts'
import { literalArguments } from '../options.ts'
import { forbid, type RuleMatch, requireApproval } from '../rule-match.ts'
import type { CommandRule, SimpleCommand } from '../simple-command.ts'

const killsAll = forbid('kill-all', 'ends every process of this user')
const killsGateway = requireApproval('stop-gateway', 'ends the gateway that runs this conversation')
/** `$PPID` of a command is the gateway itself. */
const gatewayName = /hermes|gateway|\bPPID\b/i
/** What it looks like to those who choose by name or by user. */
const gatewayProcess = /^(?:node|nodejs|main\.mjs|\.)$/

export const processes: CommandRule = (call) => {
  switch (call.name) {
    case 'kill':
      return checkKill(call)
    case 'killall5':
      return killsAll
    case 'pkill':
    case 'killall':
    case 'skill': {
      const words = literalArguments(call.args)
      if (words.some((word) => gatewayName.test(word))) return killsGateway
      const many = words.some((word) => /^-(?:9|KILL|SIGKILL|[uUG])$/i.test(word) || gatewayProcess.test(word))
      return many ? requireApproval('kill-by-name', 'kills processes by name') : undefined
    }
    case 'hermes':
      return checkHermes(call)
    default:
      return undefined
  }
}

/** A first word such as `-9` is the signal; a later one, and a lone `-1`, is a process group: -1 means all. */
function checkKill({ args }: SimpleCommand): RuleMatch | undefined {
  const words = args.map((field) => literalText(field) ?? '')
  if (args.some((field) => gatewayName.test(sourceText(field)))) return killsGateway
  let rest = words
  const [first = ''] = words
  if (/^-(?:l|L)$|^--list/.test(first)) return undefined
  if (/^-(?:s|n)$|^--signal$/.test(first)) rest = words.slice(2)
  else if (/^-./.test(first) && first !== '--' && words.length > 1) rest = words.slice(1)
  if (rest.includes('-1')) return killsAll
  return rest.includes('1') ? requireApproval('kill-init', 'signals the first process of the machine') : undefined
}

function checkHermes(call: SimpleCommand): RuleMatch | undefined {
  const [first, second] = literalArguments(call.args).filter((word) => !word.startsWith('-'))
  if (first !== 'gateway') return undefined
  if (second === 'stop' || second === 'restart') return killsGateway
  const detached = call.background || call.wrappers.some((name) => /^(?:nohup|setsid|systemd-run|disown)$/.test(name))
  return second === 'run' && detached
    ? requireApproval('gateway-detached', 'starts a second gateway in the background')
    : undefined
}
