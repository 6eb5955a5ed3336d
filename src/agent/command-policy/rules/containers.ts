/**
 * Containers: ending or removing them, giving them the machine, or reaching another machine's.
 */
import type { Rule } from '../call.ts'
import { literal } from '../field.ts'
import { ask } from '../finding.ts'
import { literals } from '../options.ts'

const lifecycle = /^(?:stop|restart|kill|rm|rmi|remove|pause|unpause|prune|down)$/

export const containers: Rule = ({ name, args }) => {
  if (!/^(?:docker|podman|nerdctl|docker-compose|podman-compose)$/.test(name)) return undefined
  const words = literals(args)
  const remote = words.some((word) => /^(?:-H|-c|--host|--context|--url|--connection|--remote)(?:=|$)/.test(word))
  if (remote && /^-/.test(literal(args[0]) ?? ''))
    return ask('container-remote', 'talks to the containers of another machine')
  const commands = words.filter((word) => !word.startsWith('-')).slice(0, 3)
  const privileged = words.some((word) => /^--privileged|^(?:-v|--volume=?)?\/:|^--pid=host/.test(word))
  if (privileged && commands.some((word) => word === 'run' || word === 'exec' || word === 'create')) {
    return ask('container-privileged', 'gives a container the run of this machine')
  }
  const depth = /^(?:compose|container|image|volume|network|system|pod|builder|buildx)$/.test(commands[0] ?? '') ? 2 : 1
  const acts = name.endsWith('-compose') ? commands : commands.slice(0, depth)
  return acts.some((word) => lifecycle.test(word))
    ? ask('container-lifecycle', 'stops or removes containers')
    : undefined
}
