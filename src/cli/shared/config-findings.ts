/**
 * The issues of the configuration as `hermes status`, `hermes doctor` and `hermes config check` show them.
 */
import { inspectServers } from '../../agent/mcp/inspect.ts'
import { formatIssue } from '../../config/issue.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Daemon } from '../kit/daemon.ts'
import type { Settings } from '../kit/settings.ts'

export interface ConfigFinding {
  /** `degraded`: why the values in use differ from the files. */
  readonly kind: 'problem' | 'warning' | 'degraded' | 'note'
  readonly text: string
}

/**
 * A running daemon knows which values it uses, and its report has the reasons. Without one, these are the values that a
 * daemon would use if it was started now.
 */
export function configFindings(
  { config, catalogue }: Pick<Settings, 'config' | 'catalogue'>,
  daemon: Daemon | undefined,
  { mcpTokens: tokens }: Pick<HomeLayout, 'mcpTokens'>,
): ConfigFinding[] {
  const { problems, warnings, notes, degraded } = config.state()
  const findings: ConfigFinding[] = [
    ...problems.map((issue): ConfigFinding => ({ kind: 'problem', text: formatIssue(issue) })),
    ...warnings.map((issue): ConfigFinding => ({ kind: 'warning', text: formatIssue(issue) })),
    ...catalogue.invalid.map(
      ({ directory, reason }): ConfigFinding => ({ kind: 'warning', text: `platform folder ${directory}: ${reason}` }),
    ),
  ]
  const searchPath = config.environment().values['PATH']
  findings.push(
    ...inspectServers(config.current(), { tokens, searchPath }).map(
      (text): ConfigFinding => ({ kind: 'warning', text }),
    ),
  )
  findings.push(...notes.map((issue): ConfigFinding => ({ kind: 'note', text: formatIssue(issue) })))
  if (daemon === undefined) return [...findings, ...degraded.map((text): ConfigFinding => ({ kind: 'degraded', text }))]
  return findings.filter(({ text }) => !daemon.report.degraded.includes(text))
}
