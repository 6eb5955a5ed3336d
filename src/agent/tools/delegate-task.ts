/**
 * Delegates parts of a task to sub-agents and returns their summaries (contract §4.9).
 */
import { z } from 'zod'
import type { BuiltInToolDeps } from './deps.ts'
import { toErrorJson, truncateMiddle } from './support/result-json.ts'
import { defineTool, type SubagentTask } from './tool.ts'

const task = { goal: z.string(), context: z.string().optional() }
const parameters = z.object({
  goal: task.goal.optional(),
  context: task.context,
  tasks: z.array(z.object(task)).optional().describe('instead of goal: several side by side'),
})

type Arguments = z.output<typeof parameters>

export default ({ maxChildren }: Pick<BuiltInToolDeps, 'maxChildren'>) =>
  defineTool({
    name: 'delegate_task',
    toolset: 'delegation',
    description: `Let sub-agents (at most ${maxChildren} at once) do separate pieces of work with your tools. They know nothing but goal and context; you get a summary of each.`,
    parameters,
    mode: 'effect',
    label: (args) =>
      childTasksOf(args)
        .map(({ goal }) => goal)
        .join(' · '),

    async run(args, { delegate, signal, limits }) {
      if (delegate === undefined)
        return toErrorJson({ code: 'no_turn', reason: 'Sub-agents are available only within a turn.' })
      const tasks = childTasksOf(args)
      if (tasks.length === 0)
        return toErrorJson({ code: 'no_goal', reason: 'Give a goal, or tasks that each have one.' })
      if (args.goal !== undefined && args.tasks !== undefined)
        return toErrorJson({ code: 'goal_and_tasks', reason: 'Give either goal or tasks, not both.' })
      if (tasks.length > maxChildren)
        return toErrorJson({
          code: 'too_many_tasks',
          reason: `At most ${maxChildren} tasks run at once, not ${tasks.length}; none was started.`,
        })
      const empty = tasks.findIndex(({ goal }) => goal.trim() === '')
      if (empty !== -1)
        return toErrorJson({ code: 'empty_goal', reason: `The goal of task ${empty} is empty; none was started.` })
      const reports = await delegate(tasks, signal)
      // Quotes and line breaks take two characters in JSON.
      const summaryChars = Math.floor(limits.maxResultChars / (reports.length * 2)) - 100
      return JSON.stringify({
        results: reports.map(({ status, summary }, index) => ({
          task: index,
          status,
          summary: truncateMiddle(summary, Math.max(summaryChars, 200)),
        })),
      })
    },
  })

function childTasksOf({ goal, context = '', tasks }: Arguments): readonly SubagentTask[] {
  if (tasks !== undefined) return tasks.map((one) => ({ goal: one.goal, context: one.context ?? '' }))
  return goal === undefined ? [] : [{ goal, context }]
}
