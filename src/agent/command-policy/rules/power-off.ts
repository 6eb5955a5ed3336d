/**
 * Turning the machine off, and its services.
 */

import { literalArguments } from '../options.ts'
import { forbid, requireApproval } from '../rule-match.ts'
import type { CommandRule } from '../simple-command.ts'

const powerOff = forbid('power-off', 'turns the machine off or starts it anew')
const serviceChange = requireApproval('service-change', 'stops, restarts or disables a service')

const offTargets = /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency)(?:\.target)?$/
const stoppingActions =
  /^(?:stop|restart|try-restart|reload-or-restart|disable|mask|kill|isolate|condrestart|suspend|hibernate)$/

export const power: CommandRule = ({ name, args }) => {
  const words = literalArguments(args)
  switch (name) {
    case 'shutdown':
    case 'reboot':
    case 'halt':
    case 'poweroff':
      return words.some((word) => /^(?:--help|--version|-c)$/.test(word)) ? undefined : powerOff
    case 'init':
    case 'telinit':
      return words.some((word) => /^[06]$/.test(word)) ? powerOff : undefined
    case 'systemctl':
    case 'loginctl':
    case 'launchctl':
    case 'rc-service':
    case 'service':
    case 'supervisorctl': {
      const said = words.filter((word) => !word.startsWith('-'))
      if (name.endsWith('ctl') && said.some((word) => offTargets.test(word))) return powerOff
      return said.some((word) => stoppingActions.test(word)) ? serviceChange : undefined
    }
    default:
      return undefined
  }
}
