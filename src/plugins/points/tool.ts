/**
 * What plugins hear and say of a tool call.
 */
import type { AgentPoints } from '../../agent/points.ts'
import type { PluginHooks } from '../hooks/hooks.ts'
import { firstText, type Misfit } from './answers.ts'
import { directiveOf } from './directive.ts'
import { endingKeys, happeningIn, toolKeys } from './keys.ts'

type ToolPoints = Pick<AgentPoints, 'beforeTool' | 'afterTool' | 'transformResult'>

export function createToolPoints(hooks: PluginHooks, misfitAt: (point: string) => Misfit): ToolPoints {
  return {
    async beforeTool(facts, args, trace) {
      const answers = await hooks.collect('pre_tool_call', happeningIn(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        middleware_trace: trace,
      }))
      return directiveOf(answers, facts.toolName, args, misfitAt('pre_tool_call'))
    },

    async afterTool(facts, args, trace, ending) {
      hooks.tell('post_tool_call', happeningIn(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        ...endingKeys(ending),
        middleware_trace: trace,
      }))
    },

    async transformResult(facts, args, ending) {
      const answers = await hooks.collect('transform_tool_result', happeningIn(facts.turn), () => ({
        ...toolKeys(facts),
        args,
        ...endingKeys(ending),
      }))
      return firstText(answers, misfitAt('transform_tool_result')) ?? ending.result
    },
  }
}
