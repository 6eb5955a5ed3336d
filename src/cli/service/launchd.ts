/**
 * The gateway as an agent of launchd.
 */
import { join } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import type { ProgramResult } from '../kit/run-program.ts'
import { marker, type ServiceDefinition, type ServiceManager } from './service-manager.ts'

export interface LaunchdOptions {
  readonly definition: ServiceDefinition
  readonly userId: number
  /** Where the service prints what does not go into its log. */
  readonly logs: string
  /** Runs a program of the PATH. */
  readonly run: (name: string, args: readonly string[]) => Promise<ProgramResult>
}

export function createLaunchdManager({ definition, userId, logs, run }: LaunchdOptions): ServiceManager {
  const label = `org.hermes-gateway${definition.suffix}`
  const domain = `gui/${userId}`
  const target = `${domain}/${label}`
  const file = join(definition.userHome, 'Library', 'LaunchAgents', `${label}.plist`)
  const output = join(logs, 'service.log')
  const launchctl = async (...words: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await run('launchctl', words)
    if (code !== 0)
      throw new HermesError(
        'service/failed',
        `launchctl ${words.join(' ')}: ${(stderr || stdout).trim() || `exit code ${code}`}`,
      )
  }
  const print = async () => await run('launchctl', ['print', target])
  const isLoaded = async () => (await print()).code === 0
  const unload = async () => {
    if (await isLoaded()) await launchctl('bootout', target)
  }
  return {
    name: 'launchd',
    service: label,
    file,
    text: propertyList(definition, label, output),
    async state() {
      const { code, stdout } = await print()
      const pid = Number(/^\s*pid = (\d+)/m.exec(stdout)?.[1] ?? 0)
      const state = /^\s*state = (.+)$/m.exec(stdout)?.[1] ?? ''
      const last = /^\s*last exit code = (.+)$/m.exec(stdout)?.[1]
      const details =
        code === 0 ? [state || 'loaded', ...(last === undefined ? [] : [`last exit code ${last}`])] : ['not loaded']
      return { enabled: code === 0, active: pid > 0, pid: pid > 0 ? pid : undefined, detail: details.join(', ') }
    },
    // What is loaded also starts.
    enable: () => launchctl('enable', target),
    async start(restart) {
      if (restart) await unload()
      if (!(await isLoaded())) await launchctl('bootstrap', domain, file)
      await launchctl('kickstart', target)
    },
    disable: unload,
    forget: async () => undefined,
    bootAdvice: async () => 'It starts when you log in. For a start at boot, let macOS log you in automatically.',
    logCommand: ({ follow, lines }) => ['tail', '-n', String(lines), ...(follow ? ['-F'] : []), output],
  }
}

function propertyList(
  { userHome, command, variables, stopSeconds }: ServiceDefinition,
  label: string,
  output: string,
): string {
  const strings = (values: readonly string[]) =>
    values.map((value) => `    <string>${escapeXml(value)}</string>`).join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${marker}, which also replaces it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapeXml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${strings([...command, '--quiet'])}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries(variables)
  .map(([name, value]) => `    <key>${escapeXml(name)}</key>\n    <string>${escapeXml(value)}</string>`)
  .join('\n')}
  </dict>
  <key>WorkingDirectory</key>
  <string>${escapeXml(userHome)}</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${stopSeconds}</integer>
  <key>StandardOutPath</key>
  <string>${escapeXml(output)}</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(output)}</string>
</dict>
</plist>
`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
