/**
 * Gives parts of a task to sub-agents and returns their summaries (contract §4.9).
 */
import { z } from 'zod'
import { type ChildTask, defineTool } from '../tool.ts'
import type { ToolDeps } from './deps.ts'
import { cutMiddle, toError } from './support/result.ts'

const task = { goal: z.string(), context: z.string().optional() }
const parameters = z.object({
  goal: task.goal.optional(),
  context: task.context,
  tasks: z.array(z.object(task)).optional().describe('instead of goal: several side by side'),
})

type Arguments = z.output<typeof parameters>

export default ({ maxChildren }: Pick<ToolDeps, 'maxChildren'>) =>
  defineTool({
    name: 'delegate_task',
    toolset: 'delegation',
    description: `Let sub-agents (at most ${maxChildren} at once) do separate pieces of work with your tools. They know nothing but goal and context; you get a summary of each.`,
    parameters,
    mode: 'effect',
    label: (args) => tasksIn(args).map(firstLine).join(' · '),

    async run(args, { delegate, signal, limits }) {
      if (delegate === undefined) return toError('Sub-agents work only within a turn.')
      const tasks = tasksIn(args)
      if (tasks.length === 0) return toError('Give a goal, or tasks that each have one.')
      if (args.goal !== undefined && args.tasks !== undefined) return toError('Give either goal or tasks, not both.')
      if (tasks.length > maxChildren)
        return toError(`At most ${maxChildren} tasks run at once, these are ${tasks.length}; none was begun.`)
      const empty = tasks.findIndex(({ goal }) => goal.trim() === '')
      if (empty !== -1) return toError(`The goal of task ${empty} is empty; none was begun.`)
      const reports = await delegate(tasks, signal)
      // Quotes and line breaks take two characters in JSON.
      const room = Math.floor(limits.maxResultChars / (reports.length * 2)) - 100
      return JSON.stringify({
        results: reports.map(({ status, summary }, index) => ({
          task: index,
          status,
          summary: cutMiddle(summary, Math.max(room, 200)),
        })),
      })
    },
  })

function tasksIn({ goal, context = '', tasks }: Arguments): readonly ChildTask[] {
  if (tasks !== undefined) return tasks.map((one) => ({ goal: one.goal, context: one.context ?? '' }))
  return goal === undefined ? [] : [{ goal, context }]
}

function firstLine({ goal }: ChildTask): string {
  const [line = ''] = goal.trim().split('\n', 1)
  return line.length > 60 ? `${line.slice(0, 59).toWellFormed()}…` : line
}
