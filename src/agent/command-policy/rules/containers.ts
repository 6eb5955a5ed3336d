/**
 * Containers: ending or removing them, giving them the machine, or reaching another machine's.
 */

import { literalText } from '../field.ts'
import { literalArguments } from '../options.ts'
import { requireApproval } from '../rule-match.ts'
import type { CommandRule } from '../simple-command.ts'

const lifecycle = /^(?:stop|restart|kill|rm|rmi|remove|pause|unpause|prune|down)$/

export const containers: CommandRule = ({ name, args }) => {
  if (!/^(?:docker|podman|nerdctl|docker-compose|podman-compose)$/.test(name)) return undefined
  const words = literalArguments(args)
  const remote = words.some((word) => /^(?:-H|-c|--host|--context|--url|--connection|--remote)(?:=|$)/.test(word))
  if (remote && /^-/.test(literalText(args[0]) ?? ''))
    return requireApproval('container-remote', 'talks to the containers of another machine')
  const commands = words.filter((word) => !word.startsWith('-')).slice(0, 3)
  const privileged = words.some((word) => /^--privileged|^(?:-v|--volume=?)?\/:|^--pid=host/.test(word))
  if (privileged && commands.some((word) => word === 'run' || word === 'exec' || word === 'create')) {
    return requireApproval('container-privileged', 'gives a container the run of this machine')
  }
  const depth = /^(?:compose|container|image|volume|network|system|pod|builder|buildx)$/.test(commands[0] ?? '') ? 2 : 1
  const acts = name.endsWith('-compose') ? commands : commands.slice(0, depth)
  return acts.some((word) => lifecycle.test(word))
    ? requireApproval('container-lifecycle', 'stops or removes containers')
    : undefined
}
