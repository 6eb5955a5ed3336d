/**
 * A snapshot of a page in a real browser, beside what Playwright alone takes for it. Without a Chromium there is no figure.
 */
import { findBrowser } from '../../../src/agent/browser/find-browser.ts'
import { shortenSnapshot } from '../../../src/agent/browser/snapshot.ts'
import type { Figure } from '../figure.ts'
import { median } from '../kit/stats.ts'

const nodes = 2_000
const runs = 20

export const browser: Figure = {
  name: 'browser',
  about: 'a snapshot of a page with 2,000 elements',
  async measure({ progress }) {
    const found = findBrowser({ executable_path: '', cdp_url: '' }, process.env['PATH'] ?? '')
    if (found === undefined || !('executablePath' in found)) {
      progress('no Chromium is installed')
      return []
    }
    const { chromium } = await import('playwright-core')
    const opened = await chromium.launch({ ...found, chromiumSandbox: process.getuid?.() !== 0 })
    try {
      const page = await opened.newPage()
      await page.setContent(longPage())
      const trees: number[] = []
      const own: number[] = []
      for (let run = 0; run <= runs; run += 1) {
        const begun = performance.now()
        const tree = await page.ariaSnapshot({ mode: 'ai' })
        const between = performance.now()
        shortenSnapshot(tree, { full: true, offset: 0 })
        // The first run compiles the code.
        if (run === 0) continue
        trees.push(between - begun)
        own.push(performance.now() - between)
      }
      return [
        {
          name: 'snapshot of a page with 2,000 elements',
          measured: median(trees) + median(own),
          unit: 'ms',
          bar: 60,
          baseline: { what: 'ariaSnapshot of Playwright alone', value: median(trees) },
          note: `own share ${median(own).toFixed(1)} ms`,
        },
      ]
    } finally {
      await opened.close()
    }
  },
}

function longPage(): string {
  const row = (index: number) => `<li><a href="/item/${index}">Item ${index}</a></li>`
  return `<h1>Items</h1><ul>${Array.from({ length: nodes / 2 }, (_, index) => row(index)).join('')}</ul>`
}
