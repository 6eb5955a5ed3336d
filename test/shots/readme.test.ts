/**
 * The pictures of the README, taken from a real gateway, so that they stay true. `PICTURES=docs/pictures node --test
 * test/shots/readme.test.ts` takes them again; otherwise they are only taken.
 */
import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTelegramServer } from '../kit/servers/telegram-server.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { findChromium, startBrowser } from '../platforms/web/browser.ts'
import { hasResult, terminalCall } from '../stories/support.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false
const stored = fileURLToPath(new URL('../../docs/pictures/', import.meta.url))

const answer = `The backup of last night is complete, and one folder has grown.

| Folder | Yesterday | Today |
|---|---:|---:|
| photos | 41.2 GB | 41.3 GB |
| notes | 118 MB | 121 MB |
| mail | 3.4 GB | **9.8 GB** |

Most of the growth of \`mail\` is one message with a video of 6 GB. Shall I move the video to \`photos\`?`

function reply(request: RecordedRequest) {
  if (!/backup/.test(request.lastUserText))
    return { text: 'Good morning, Ada. Two meetings today, the first one at ten.' }
  return hasResult(request) ? { text: answer } : terminalCall('echo 41.3G photos; echo 121M notes; echo 9.8G mail')
}

describe('the README', { skip }, () => {
  test('shows the page and a chat as they are', { timeout: 180_000 }, async (t) => {
    const server = await startTelegramServer()
    const gateway = await startTestGateway(t, {
      config: {
        model: 'claude-sonnet-5',
        approvals: { mode: 'off' },
        platforms: {
          fake: { enabled: false },
          telegram: { token: server.bot.token, api_root: server.url, allow_from: ['42'] },
        },
      },
      model: reply,
    })
    t.after(server.close)
    await server.bot.say('Good morning! What is on today?', { from: { id: 42, first_name: 'Ada' } }).confirmed
    await server.bot.chats.until(({ text }) => text.includes('Two meetings'))
    const browser = await startBrowser(chromium ?? '')
    t.after(() => browser.close())
    const take = async (name: string, [width, height]: readonly [number, number], colorScheme: 'light' | 'dark') => {
      const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: 1.5, colorScheme })
      const page = await context.newPage()
      page.setDefaultTimeout(30_000)
      await page.goto(`${gateway.current().url}/?chat=picture#token=${gateway.current().token()}`)
      if (name === 'page') {
        await page.fill('#message', 'Is the backup of last night all right?')
        await page.press('#message', 'Enter')
      }
      await page.locator('.log').getByText('Shall I move').waitFor()
      await page.locator('#conversations-list').getByText('Good morning').first().waitFor({ state: 'attached' })
      const picture = await page.screenshot({ animations: 'disabled' })
      const folder = process.env['PICTURES']
      if (folder !== undefined) writeFileSync(join(folder, `${name}.png`), picture)
      const { size } = statSync(join(stored, `${name}.png`))
      assert.ok(size > 10_000 && size < 300_000, `${name}.png has ${size} bytes`)
      await context.close()
    }
    await take('page', [1100, 720], 'light')
    await take('chat', [390, 720], 'dark')
  })
})
