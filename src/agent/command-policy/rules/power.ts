/**
 * Turning the machine off, and its services.
 */
import type { Rule } from '../call.ts'
import { ask, forbid } from '../finding.ts'
import { literals } from '../options.ts'

const off = forbid('power-off', 'turns the machine off or starts it anew')
const service = ask('service-change', 'stops, restarts or disables a service')

const offTargets = /^(?:poweroff|reboot|halt|kexec|soft-reboot|rescue|emergency)(?:\.target)?$/
const stopping =
  /^(?:stop|restart|try-restart|reload-or-restart|disable|mask|kill|isolate|condrestart|suspend|hibernate)$/

export const power: Rule = ({ name, args }) => {
  const words = literals(args)
  switch (name) {
    case 'shutdown':
    case 'reboot':
    case 'halt':
    case 'poweroff':
      return words.some((word) => /^(?:--help|--version|-c)$/.test(word)) ? undefined : off
    case 'init':
    case 'telinit':
      return words.some((word) => /^[06]$/.test(word)) ? off : undefined
    case 'systemctl':
    case 'loginctl':
    case 'launchctl':
    case 'rc-service':
    case 'service':
    case 'supervisorctl': {
      const said = words.filter((word) => !word.startsWith('-'))
      if (name.endsWith('ctl') && said.some((word) => offTargets.test(word))) return off
      return said.some((word) => stopping.test(word)) ? service : undefined
    }
    default:
      return undefined
  }
}
