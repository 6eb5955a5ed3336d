/**
 * A model is connected on the page, from the demonstration to an answer, without a terminal.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

describe('the first model', { skip }, () => {
  test('is chosen, tried with its answer shown, and used from the next message on', async (t) => {
    const gateway = await startTestGateway(t, {
      config: { provider: 'demo', base_url: '', api_key: '', model: '' },
      model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
    })
    const browser = await startBrowser(chromium ?? '')
    t.after(() => browser.close())
    const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
    page.setDefaultTimeout(30_000)
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    await page.goto(`${gateway.current().url}/#token=${gateway.current().token()}`)
    await page.getByRole('button', { name: 'Connect one' }).click()
    await page.selectOption('#connect-provider', '')
    await page.fill('#connect-address', 'http://127.0.0.1:9/v1')
    await page.fill('#connect-model', 'a-model')
    await page.click('#connect-try')
    await page.getByText('The model did not answer.').waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    // A key that was typed for one provider or address is sent to no other.
    const listed: string[] = []
    page.on('request', (request) =>
      listed.push(request.url().endsWith('/api/models/list') ? `${request.postData()}` : ''),
    )
    await page.fill('#connect-key', 'sk-of-the-first-address')
    await page.fill('#connect-address', 'http://127.0.0.1:10/v1')
    await page.press('#connect-address', 'Tab')
    assert.equal(await page.inputValue('#connect-key'), '')
    await page.fill('#connect-key', 'sk-of-the-second-address')
    await page.selectOption('#connect-provider', 'anthropic')
    assert.equal(await page.inputValue('#connect-key'), '')
    await page.selectOption('#connect-provider', '')
    assert.doesNotMatch(listed.join('\n'), /:10\/v1.*sk-of-the-first|anthropic.*sk-of/)
    await page.fill('#connect-address', gateway.model.baseUrl)
    await page.fill('#connect-model', 'a-model')
    await page.press('#connect-model', 'Enter')
    await page.getByText('It answered: You said: Greet me').waitFor()
    await page.click('#connect-use')
    await page.locator('#status-text', { hasText: 'a-model' }).waitFor()
    await page.fill('#message', 'hello')
    await page.press('#message', 'Enter')
    await page.locator('.log').getByText('You said: hello').waitFor()
    assert.deepEqual(problems, [])
  })
})
