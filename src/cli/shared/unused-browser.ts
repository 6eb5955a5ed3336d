/**
 * A browser that is installed although no conversation is offered its tools, for `hermes doctor` and `hermes setup`.
 */
import { findBrowser, isBrowserOptional } from '../../agent/browser/find-browser.ts'
import { selectTools } from '../../agent/toolsets/select-tools.ts'
import type { Settings } from '../kit/settings.ts'

const tool = { name: 'browser_navigate', toolset: 'browser', isOptional: true }

export const browserProposal = '`hermes tools enable browser` offers the browser to the agent.'

/** The path of the program; undefined if there is none, or if a list of toolsets names the browser. */
export function findUnusedBrowser({ config }: Settings): string | undefined {
  const { browser, custom_toolsets: custom, platform_toolsets, toolsets } = config.current()
  const program = findBrowser(browser, config.environment().values['PATH'] ?? '')
  if (program === undefined || !('executablePath' in program) || !isBrowserOptional(browser)) return undefined
  const isNamed = [toolsets, ...Object.values(platform_toolsets)].some(
    (list) => selectTools(list, [tool], custom).size > 0,
  )
  return isNamed ? undefined : program.executablePath
}
