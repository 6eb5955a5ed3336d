/**
 * Delegates parts of a task to sub-agents and returns their summaries (contract §4.9, S5).
 */
import { z } from 'zod'
import { messageOf } from '../../lib/errors.ts'
import { asArray, asRecord, asString } from '../../lib/json.ts'
import { lineOf, toErrorJson, truncateMiddle } from '../support/result-json.ts'
import type { SubagentResult } from '../support/subagent-result.ts'
import { DelegationRefused, defineToolCode, type StartedSubagent, type SubagentTask } from './tool.ts'

const options = {
  context: z.string().optional(),
  toolsets: z.array(z.string()).max(50).optional(),
  role: z.enum(['leaf', 'orchestrator']).optional(),
  model: z.string().optional(),
  images: z.array(z.string()).optional(),
  output_schema: z.record(z.string(), z.unknown()).optional(),
}
const parameters = z.object({
  goal: z.string().optional(),
  ...options,
  /** What a task does not say, the call says for all. */
  tasks: z.array(z.object({ goal: z.string(), ...options })).optional(),
  background: z.boolean().optional(),
})

type Arguments = z.output<typeof parameters>

/** Every request contains it, so a task is not described twice. */
const properties = {
  goal: { type: 'string' },
  context: { type: 'string' },
  toolsets: { type: 'array', items: { type: 'string' } },
  model: { type: 'string' },
  images: { type: 'array', items: { type: 'string' } },
  output_schema: { type: 'object' },
  background: { type: 'boolean', description: 'result comes later' },
  tasks: {
    description: 'instead of goal: several, with these keys',
    type: 'array',
    items: { type: 'object' },
  },
}

const role = { enum: ['leaf', 'orchestrator'] }

export interface DelegationLimits {
  /** Maximum number of concurrent sub-agents of a turn. */
  readonly maxChildren: number
  /** Whether sub-agents may start sub-agents. Absent: they may not. */
  readonly mayNest?: boolean
}

export const createDelegateTool = ({ maxChildren, mayNest }: DelegationLimits) =>
  defineToolCode({
    name: 'delegate_task',
    description: `Let sub-agents (at most ${maxChildren} at once) work with your tools. They know only goal and context; you get summaries.`,
    parameters,
    // Without sub-agents of sub-agents there is one role.
    jsonSchema: { type: 'object', properties: mayNest === true ? { ...properties, role } : properties },
    acceptsUndescribed: true,
    mode: 'effect',
    label: (args) =>
      childTasksOf(args)
        .map(({ goal }) => goal)
        .join(' · '),
    summarize: ({ results, started }) => {
      if (Array.isArray(started)) return `${started.length} started in the background`
      const reports = asArray(results).map(asRecord)
      const done = reports.filter(({ status }) => status === 'completed').length
      const only = reports.length === 1 && done === 1 ? lineOf(asString(reports[0]?.['summary'])) : ''
      return only || `${done} of ${reports.length} completed`
    },

    async run(args, { subagents, signal, limits }) {
      if (subagents === undefined)
        return toErrorJson({ code: 'no_turn', reason: 'Sub-agents are available only within a turn.' })
      const tasks = childTasksOf(args)
      const problem = problemOf(args, tasks, maxChildren)
      if (problem !== undefined) return toErrorJson(problem)
      try {
        if (args.background === true) return startedJson(await subagents.delegateInBackground(tasks))
        return resultsJson(await subagents.delegate(tasks, signal), limits.maxResultChars)
      } catch (error) {
        if (!(error instanceof DelegationRefused)) throw error
        return toErrorJson({ code: error.code, reason: messageOf(error) })
      }
    },
  })

function problemOf({ goal, tasks: given }: Arguments, tasks: readonly SubagentTask[], maxChildren: number) {
  if (tasks.length === 0) return { code: 'no_goal', reason: 'Give a goal, or tasks that each have one.' }
  if (goal !== undefined && given !== undefined)
    return { code: 'goal_and_tasks', reason: 'Give either goal or tasks, not both.' }
  if (tasks.length > maxChildren)
    return {
      code: 'too_many_tasks',
      reason: `At most ${maxChildren} tasks run at once, not ${tasks.length}; none was started.`,
    }
  const empty = tasks.findIndex((task) => task.goal.trim() === '')
  return empty === -1
    ? undefined
    : { code: 'empty_goal', reason: `The goal of task ${empty} is empty; none was started.` }
}

function childTasksOf({ goal, tasks, background: _background, ...common }: Arguments): readonly SubagentTask[] {
  if (tasks !== undefined) return tasks.map((task) => toTask(task.goal, { ...common, ...task }))
  return goal === undefined ? [] : [toTask(goal, common)]
}

function toTask(
  goal: string,
  { context = '', toolsets, role, model, images, output_schema: outputSchema }: Omit<Arguments, 'goal' | 'tasks'>,
): SubagentTask {
  return {
    goal,
    context,
    ...(toolsets && { toolsets }),
    ...(role && { role }),
    model,
    ...(images && { images }),
    ...(outputSchema && { outputSchema }),
  }
}

function startedJson(started: readonly StartedSubagent[]): string {
  return JSON.stringify({
    started: started.map(({ id, note }, task) => ({ task, id, ...(note === '' ? {} : { note }) })),
    note: 'They work in the background. Each result comes as a message of its own; do not wait for it.',
  })
}

function resultsJson(results: readonly SubagentResult[], maxChars: number): string {
  // Quotes and line breaks take two characters in JSON.
  const summaryChars = Math.max(Math.floor(maxChars / (results.length * 2)) - 100, 200)
  return JSON.stringify({ results: results.map((result, task) => ({ task, ...toReport(result, summaryChars) })) })
}

/** What the agent reads of a result. An answer that matches its schema is given as JSON unless it is too long. */
export function toReport({ status, summary, schemaValid, output, note }: SubagentResult, summaryChars: number) {
  const checked = { schema_valid: schemaValid, ...(note && { note }) }
  if (schemaValid === true && JSON.stringify(output).length <= summaryChars) return { status, ...checked, output }
  return { status, ...checked, summary: truncateMiddle(summary, summaryChars) }
}
