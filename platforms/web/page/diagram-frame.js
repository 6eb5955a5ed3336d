/**
 * Runs in the frame of a diagram, next to Mermaid: draws the source that the page sends, and says how high it is.
 */
/* global mermaid */

window.addEventListener('message', async ({ source, data }) => {
  if (source !== window.parent || typeof data?.source !== 'string') return
  try {
    const { mermaid } = /** @type {any} */ (window)
    mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme: data.isDark ? 'dark' : 'neutral' })
    const { svg } = await mermaid.render('diagram', data.source)
    document.body.innerHTML = svg
    const { height } = document.body.getBoundingClientRect()
    window.parent.postMessage({ type: 'drawn', height: Math.ceil(height) }, '*')
  } catch {
    window.parent.postMessage({ type: 'failed' }, '*')
  }
})
window.parent.postMessage({ type: 'ready' }, '*')
