/** The look: that of VitePress with the letters of the reader's system, so that nothing is fetched for them. */
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
