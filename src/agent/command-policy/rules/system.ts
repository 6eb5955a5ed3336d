/**
 * Rules about the system: power, services, processes, fork bombs, permissions, databases and containers.
 */
import { forEachChild, type Function as ShellFunction, type SyntaxNode } from 'unbash'
import { hasOption, literalArguments, literalText, sourceText } from '../field.ts'
import { type CommandRule, forbid, type RuleMatch, requireApproval, type SimpleCommand } from '../rule.ts'

const powerOff = forbid('power-off', 'turns the machine off or restarts it')
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
      const actions = words.filter((word) => !word.startsWith('-'))
      if (name.endsWith('ctl') && actions.some((word) => offTargets.test(word))) return powerOff
      return actions.some((word) => stoppingActions.test(word)) ? serviceChange : undefined
    }
    default:
      return undefined
  }
}

const killsAll = forbid('kill-all', 'ends every process of this user')
const killsGateway = requireApproval('stop-gateway', 'ends the gateway that runs this conversation')
/** `$PPID` of a command is the process of the gateway. */
const gatewayName = /hermes|gateway|\bPPID\b/i
/** The name of the gateway process for commands that select by name. */
const gatewayProcess = /^(?:node|nodejs|main\.mjs|\.)$/

export const processes: CommandRule = (command) => {
  switch (command.name) {
    case 'kill':
      return checkKill(command)
    case 'killall5':
      return killsAll
    case 'pkill':
    case 'killall':
    case 'skill': {
      const words = literalArguments(command.args)
      if (words.some((word) => gatewayName.test(word))) return killsGateway
      const many = words.some((word) => /^-(?:9|KILL|SIGKILL|[uUG])$/i.test(word) || gatewayProcess.test(word))
      return many ? requireApproval('kill-by-name', 'kills processes by name') : undefined
    }
    case 'hermes':
      return checkHermes(command)
    default:
      return undefined
  }
}

/** A first word such as `-9` is a signal. A later one, and a single `-1`, is a process group; `-1` means all processes. */
function checkKill({ args }: SimpleCommand): RuleMatch | undefined {
  const words = args.map((field) => literalText(field) ?? '')
  if (args.some((field) => gatewayName.test(sourceText(field)))) return killsGateway
  let targets = words
  const [first = ''] = words
  if (/^-(?:l|L)$|^--list/.test(first)) return undefined
  if (/^-(?:s|n)$|^--signal$/.test(first)) targets = words.slice(2)
  else if (/^-./.test(first) && first !== '--' && words.length > 1) targets = words.slice(1)
  if (targets.includes('-1')) return killsAll
  return targets.includes('1') ? requireApproval('kill-init', 'signals the first process of the machine') : undefined
}

export const hermesForOwner = 'hermes-for-owner'

/**
 * Outside of the sandbox `hermes` has the rights of the user of the gateway: it accepts hooks, enables plugins, answers questions and
 * shows the token of the gateway.
 */
const speaksForOwner = requireApproval(
  hermesForOwner,
  'changes or shows in the name of the owner what the gateway may do',
)

const readingPrograms = new Set(['', 'help', 'version', 'status', 'doctor', 'whoami', 'commands', 'usage'])
const readingCommands = new Set(['', 'list', 'info', 'show', 'search', 'status', 'path', 'check', 'schema'])

function readsOnly(first: string, second: string): boolean {
  if (readingPrograms.has(first)) return true
  return !['web', 'chat', 'pause'].includes(first) && readingCommands.has(second)
}

function checkHermes(command: SimpleCommand): RuleMatch | undefined {
  const { words, namesProfile } = withoutProfileOption(literalArguments(command.args))
  const [first = '', second = ''] = words.filter((word) => !word.startsWith('-'))
  if (first !== 'gateway') {
    const isKnown = command.args.every((field) => literalText(field) !== undefined)
    return isKnown && !namesProfile && readsOnly(first, second) ? undefined : speaksForOwner
  }
  // Wherever it stands: an option behind the command may have taken the word before it.
  if (words.some((word) => word === 'stop' || word === 'restart')) return killsGateway
  if (hasOption(command.args, '', ['accept-hooks'])) return speaksForOwner
  const detached =
    command.background || command.wrappers.some((name) => /^(?:nohup|setsid|systemd-run|disown)$/.test(name))
  return second === 'run' && detached
    ? requireApproval('gateway-detached', 'starts a second gateway in the background')
    : undefined
}

/**
 * The value of the option is no command. Another profile has its own people and secrets. What follows the command
 * belongs to the command, as on the command line.
 */
function withoutProfileOption(words: readonly string[]): { words: readonly string[]; namesProfile: boolean } {
  const rest: string[] = []
  let namesProfile = false
  let index = 0
  for (; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '--' || !word.startsWith('-')) break
    const isOption = word === '-p' || word === '--profile'
    if (isOption) index += 1
    if (isOption || /^(?:-p|--profile=)/.test(word)) namesProfile = true
    else rest.push(word)
  }
  return { words: [...rest, ...words.slice(index)], namesProfile }
}

/** A function that calls itself more than once, or in the background: it multiplies until the machine stops. */
export function isForkBomb(node: ShellFunction): boolean {
  const name = node.name.value
  const multiplies = (inner: SyntaxNode): boolean => {
    if (inner.type === 'Pipeline' && inner.commands.filter((stage) => callsFunction(stage, name)).length > 1)
      return true
    if (inner.type === 'Statement' && inner.background === true && callsFunction(inner, name)) return true
    return someChild(inner, multiplies)
  }
  return multiplies(node.body)
}

function callsFunction(node: SyntaxNode, name: string): boolean {
  if (node.type === 'Command' && node.name?.value === name) return true
  return someChild(node, (child) => callsFunction(child, name))
}

function someChild(node: SyntaxNode, test: (child: SyntaxNode) => boolean): boolean {
  let isMatch = false
  forEachChild(node, (child) => {
    isMatch ||= test(child)
  })
  return isMatch
}

/** The last digit of an octal mode applies to all users; 2 is write permission. */
const worldWritableMode = /^[0-7]{0,4}[2367]$/
const worldWritableSymbols = /(?:^|,)[ug]*(?:o|a)[ugoa]*[+=][rxXst]*w/

export const permissions: CommandRule = ({ name, args }) => {
  const words = literalArguments(args)
  if (name === 'chmod') {
    const open = words.some(
      (word) =>
        (/^\d{3,5}$/.test(word) && worldWritableMode.test(word)) || worldWritableSymbols.test(word) || word === 'ugo+w',
    )
    return open ? requireApproval('world-writable', 'lets all users write to files') : undefined
  }
  if (name === 'chown' || name === 'chgrp') {
    const toRoot = words.some((word) => /^(?:root|0)?:?(?:root|0)$|^(?:root|0):/.test(word))
    return toRoot && hasOption(args, 'R', ['recursive'])
      ? requireApproval('chown-root', 'makes root the owner of whole directories')
      : undefined
  }
  return undefined
}

const clients =
  /^(?:psql|mysql|mariadb|sqlite3|sqlcmd|duckdb|cockroach|clickhouse-client|clickhouse|pgcli|mycli|usql|isql)$/

export const databases: CommandRule = ({ name, args, input }) => {
  if (!clients.test(name)) return undefined
  const piped = input.kind === 'text' || input.kind === 'pipe' ? (input.text ?? '') : ''
  const sql = `${args.map(sourceText).join(' ')}\n${piped}`
  if (/\bdrop\s+(?:table|database|schema)\b/i.test(sql))
    return requireApproval('sql-drop', 'drops a table or a database')
  if (/\btruncate\b/i.test(sql)) return requireApproval('sql-truncate', 'empties a table')
  const deletesAll = sql
    .split(';')
    .some((statement) => /\bdelete\s+from\b/i.test(statement) && !/\bwhere\b/i.test(statement))
  return deletesAll ? requireApproval('sql-delete', 'deletes every row of a table') : undefined
}

const lifecycle = /^(?:stop|restart|kill|rm|rmi|remove|pause|unpause|prune|down)$/

export const containers: CommandRule = ({ name, args }) => {
  if (!/^(?:docker|podman|nerdctl|docker-compose|podman-compose)$/.test(name)) return undefined
  const words = literalArguments(args)
  const remote = words.some((word) => /^(?:-H|-c|--host|--context|--url|--connection|--remote)(?:=|$)/.test(word))
  if (remote && /^-/.test(literalText(args[0]) ?? ''))
    return requireApproval('container-remote', 'controls the containers of another machine')
  const commands = words.filter((word) => !word.startsWith('-')).slice(0, 3)
  const privileged = words.some((word) => /^--privileged|^(?:-v|--volume=?)?\/:|^--pid=host/.test(word))
  if (privileged && commands.some((word) => word === 'run' || word === 'exec' || word === 'create')) {
    return requireApproval('container-privileged', 'gives a container control of this machine')
  }
  const depth = /^(?:compose|container|image|volume|network|system|pod|builder|buildx)$/.test(commands[0] ?? '') ? 2 : 1
  const actions = name.endsWith('-compose') ? commands : commands.slice(0, depth)
  return actions.some((word) => lifecycle.test(word))
    ? requireApproval('container-lifecycle', 'stops or removes containers')
    : undefined
}
