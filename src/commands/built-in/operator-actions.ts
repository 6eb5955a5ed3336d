/**
 * What `/update` and `/debug` reply: how the operator updates this installation, and what a report of a problem needs.
 */
import { formatDuration } from '../../lib/duration.ts'
import type { CommandContext } from '../command.ts'
import type { InstallationReport } from '../gateway.ts'

export async function update(_context: CommandContext, report: InstallationReport): Promise<string> {
  const { kind, root } = report.installation
  const version = `This is hermes-gateway ${report.version}.`
  const after = 'The next start continues what was interrupted, and `hermes doctor` checks the configuration.'
  switch (kind) {
    case 'container':
      return `${version} It runs in a container: build or pull the newer image and start the container again. ${after}`
    case 'checkout':
      return `${version} To update it, run on its machine:\n\n\`\`\`sh\ncd ${root}\nhermes gateway stop\ngit pull\nnpm ci\nnpm start\n\`\`\`\n\n${after}`
    case 'package':
      return `${version} To update it, run on its machine:\n\n\`\`\`sh\nhermes gateway stop\nnpm install --global hermes-gateway@latest\nhermes gateway run\n\`\`\`\n\n${after}`
    case 'copy':
      return `${version} It was installed without git in \`${root}\`. Stop it, replace that folder by the newer version, run \`npm ci\` there and start it. ${after}`
  }
}

export async function debug(_context: CommandContext, report: InstallationReport): Promise<string> {
  const { platforms, model, provider, uptimeMs, degraded } = report.gateway()
  const { kind, node, machine, logFile } = report.installation
  const states = Object.entries(platforms).map(([name, { state, reason }]) => {
    return `${name}: ${state}${reason === undefined ? '' : ` (${reason})`}`
  })
  const facts = [
    `hermes-gateway ${report.version} (${kind}), Node ${node}, ${machine}`,
    `up ${formatDuration(uptimeMs)}`,
    `model ${model === '' ? 'none' : model}, provider ${provider}`,
    ...states,
    ...degraded.map((reason) => `degraded: ${reason}`),
  ]
  const steps = [
    'Say what you did, what you expected and what happened.',
    'Add the facts above and the output of `hermes doctor` and `hermes status`.',
    `Add the lines of the log around that moment: \`${logFile}\`. Known secrets are taken out of it, and so is their like; texts of people are not, so read the lines before you send them.`,
    'Never send `.env`, `config.yaml` or `state.db`.',
  ]
  return `\`\`\`text\n${report.redact(facts.join('\n')).replaceAll('```', "'''")}\n\`\`\`\n\n**For a report of a problem**\n\n${steps.map((step) => `- ${step}`).join('\n')}`
}
