/**
 * Checks the memory files of the agent: whether they can be read, whether they fit, and whether they look like an attack.
 */
import { inspectMemory } from '../../agent/memory/inspect-memory.ts'
import { type Check, note, ok, problem } from './check-result.ts'

const subject = 'Memory'

const advice = {
  unreadable: 'Repair the file, or move it away. Until then the agent neither reads nor changes it.',
  blocked: 'Read it with hermes memory show, and remove the entry. Until then it is not part of any prompt.',
  too_long: 'Shorten it, or raise the limit in config.yaml.',
} as const

export const checkMemory: Check = ({ context: { home }, settings: { config } }) => {
  const { memory } = config.current()
  const reports = (['memory', 'user'] as const)
    .map((target) => inspectMemory(home.memories, memory, target))
    .filter(({ enabled }) => enabled)
  const findings = reports.flatMap(({ state, problem: text }) => {
    if (state === 'ok') return []
    return [state === 'too_long' ? note(subject, text, advice[state]) : problem(subject, text, advice[state])]
  })
  if (findings.length > 0) return findings
  const texts = reports.filter(({ entries }) => entries.length > 0).map(({ target, usage }) => `${target} ${usage}`)
  return texts.length === 0 ? [] : [ok(subject, texts.join(', '))]
}
