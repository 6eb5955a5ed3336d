/**
 * A run of the agent in memory that has the real `delegate_task` among tools that are plain functions.
 */
import type { SubagentEndInfo, SubagentInfo, TurnInfo } from '../../../src/agent/support/agent-hooks.ts'
import { withFacts } from '../../../src/agent/tools/built-in-tools.ts'
import { createDelegateTool } from '../../../src/agent/tools/delegate-task.ts'
import { bindTool } from '../../../src/agent/tools/registry.ts'
import type { ScriptedAnswer, ScriptStep } from '../../kit/scripted-provider.ts'
import type { TestTool } from '../in-memory-deps.ts'
import { runTestAgent, type TestAgentOptions } from '../run-test-agent.ts'

export const bound = bindTool(withFacts(createDelegateTool({ maxChildren: 3 })))

/** The real tool among tools that are plain functions. */
const delegate: TestTool = async ({ arguments: text }, context) => {
  const parsed = bound.parse(text)
  return parsed.ok ? parsed.call.run(context) : JSON.stringify({ error: parsed.error })
}

export function asks(...calls: NonNullable<ScriptedAnswer['calls']>): ScriptedAnswer {
  return { calls }
}

export interface SubagentEvent {
  readonly parent: TurnInfo
  readonly child: SubagentInfo
  readonly ending?: SubagentEndInfo
}

export function delegating(
  script: readonly ScriptStep[],
  tools: Record<string, TestTool> = {},
  setting: TestAgentOptions = {},
) {
  const received: SubagentEvent[] = []
  const turns: TurnInfo[] = []
  const run = runTestAgent(
    script,
    { delegate_task: delegate, memory: async () => 'never', ...tools },
    {
      ...setting,
      hooks: {
        collectContext: async (turn) => {
          turns.push(turn)
          return ''
        },
        onSubagentStart: (parent, child) => void received.push({ parent, child }),
        onSubagentStop: (parent, child, ending) => void received.push({ parent, child, ending }),
        ...setting.hooks,
      },
    },
  )
  const reports = () => {
    const result = run.journal.messages.find((message) => message.role === 'tool')
    return JSON.parse(result?.content ?? '{}')
  }
  return { ...run, received, turns, reports }
}
