/**
 * Ending other processes, and meddling with the gateway itself.
 */
import type { Call, Rule } from '../call.ts'
import { literal, written } from '../field.ts'
import { ask, type Finding, forbid } from '../finding.ts'
import { literals } from '../options.ts'

const killsAll = forbid('kill-all', 'ends every process of this user')
const killsGateway = ask('stop-gateway', 'ends the gateway that runs this conversation')
/** `$PPID` of a command is the gateway itself. */
const gatewayName = /hermes|gateway|\bPPID\b/i
/** What it looks like to those who choose by name or by user. */
const gatewayProcess = /^(?:node|nodejs|main\.mjs|\.)$/

export const processes: Rule = (call) => {
  switch (call.name) {
    case 'kill':
      return judgeKill(call)
    case 'killall5':
      return killsAll
    case 'pkill':
    case 'killall':
    case 'skill': {
      const words = literals(call.args)
      if (words.some((word) => gatewayName.test(word))) return killsGateway
      const many = words.some((word) => /^-(?:9|KILL|SIGKILL|[uUG])$/i.test(word) || gatewayProcess.test(word))
      return many ? ask('kill-by-name', 'kills processes by name') : undefined
    }
    case 'hermes':
      return judgeHermes(call)
    default:
      return undefined
  }
}

/** A first word such as `-9` is the signal; a later one, and a lone `-1`, is a process group: -1 means all. */
function judgeKill({ args }: Call): Finding | undefined {
  const words = args.map((field) => literal(field) ?? '')
  if (args.some((field) => gatewayName.test(written(field)))) return killsGateway
  let rest = words
  const [first = ''] = words
  if (/^-(?:l|L)$|^--list/.test(first)) return undefined
  if (/^-(?:s|n)$|^--signal$/.test(first)) rest = words.slice(2)
  else if (/^-./.test(first) && first !== '--' && words.length > 1) rest = words.slice(1)
  if (rest.includes('-1')) return killsAll
  return rest.includes('1') ? ask('kill-init', 'signals the first process of the machine') : undefined
}

function judgeHermes(call: Call): Finding | undefined {
  const [first, second] = literals(call.args).filter((word) => !word.startsWith('-'))
  if (first !== 'gateway') return undefined
  if (second === 'stop' || second === 'restart') return killsGateway
  const detached = call.background || call.wrappers.some((name) => /^(?:nohup|setsid|systemd-run|disown)$/.test(name))
  return second === 'run' && detached ? ask('gateway-detached', 'starts a second gateway in the background') : undefined
}
